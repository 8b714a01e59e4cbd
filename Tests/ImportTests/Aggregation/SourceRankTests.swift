import Testing

@testable import Import

@Suite struct SourceRankTests {
    @Test(arguments: [
        (
            "<<HKDevice: 0x2dad72bbd>, name:Apple Watch, manufacturer:Apple Inc., model:Watch, "
                + "hardware:Watch5,2, software:5.1.2>", SourceSort.watch
        ),
        ("<<HKDevice: 0x1>, name:iPhone, model:iPhone, hardware:iPhone11,8>", .phone),
        ("<<HKDevice: 0x1>, name:Venu 2, model:Fitness Watch>", .watch),
        ("<<HKDevice: 0x1>, name:Strap, manufacturer:Watch & Co, model:S1>", nil),
        ("<<HKDevice: 0x1>, name:iPhone, model:Watch>", .watch),
        ("<<HKDevice: 0x1>", nil), ("", nil), ("watch", nil),
    ])
    func `a device tells what a source is`(device: String, sort: SourceSort?) {
        #expect(SourceSort.of(device: device) == sort)
    }

    @Test func `a source without a device is what its name says`() {
        #expect(SourceSort.of(name: "Ada’s Apple\u{A0}Watch") == .watch)
        #expect(SourceSort.of(name: "IPHONE von Ada") == .phone)
        #expect(SourceSort.of(name: "Withings") == .other)
    }

    @Test func `a name is the same with another space, apostrophe or case`() {
        #expect(SourceRank.simplified("Ada’s Apple\u{A0}Watch") == "ada's apple watch")
        #expect(SourceRank.simplified("ADA\u{2018}S\u{202F}Phone") == "ada's phone")
        #expect(SourceRank.simplified("José") == "josé")
    }

    @Test func `what is preferred comes first, then watches, phones and others by name`() {
        let names = ["Zeta", "Ada's iPhone", "Alpha", "Ada’s Watch", "Band", "Bea's iPhone"]
        let sorts: [SourceSort?] = [nil, nil, nil, nil, .watch]

        let plain = order(names, sorts: sorts, preferred: [])
        let preferring = order(
            names, sorts: sorts, preferred: ["zeta", "BEA\u{2019}S IPHONE", "nobody"])

        #expect(plain == [5, 2, 4, 0, 1, 3])
        #expect(preferring == [0, 4, 5, 2, 3, 1])
    }

    @Test func `what a device says counts before the name`() {
        let order = order(
            ["My watch app", "Plain"], sorts: [.other, .phone], preferred: [])

        #expect(order == [1, 0])
    }

    private func order(
        _ names: [String], sorts: [SourceSort?], preferred: [String]
    ) -> [Int] {
        SourceRank.order(
            of: names.enumerated().map { index, name in
                DaySource(
                    name: name, sort: index < sorts.count ? sorts[index] : nil,
                    preferred: preferred)
            })
    }
}
