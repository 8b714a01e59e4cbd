import Testing

@testable import Reports

@Suite struct InsightNamesTests {
    @Test(
        arguments: [
            ([], []), (["a"], ["a"]), (["1f0c7e52-6a1d-4f0e"], ["1f0c7e52"]),
            (["1f0c7e52-6a", "2f0c7e52-6a"], ["1f0c7e52", "2f0c7e52"]),
            (["insight-17", "insight-25", "insight-2"], ["insight-1", "insight-25", "insight-2"]),
            // An id that is the beginning of another one is its own name.
            (["12345678", "123456789"], ["12345678", "123456789"]),
            (["ab", "ab"], ["ab", "ab"]), (["äöüäöüäöü", "äöüäöüäö"], ["äöüäöüäöü", "äöüäöüäö"]),
        ] as [([String], [String])])
    func `as much of an id is written as tells it from the others`(ids: [String], names: [String]) {
        let found = InsightNames(ids)

        #expect(ids.map { found[$0] } == names)
    }

    @Test func `an id that is not known is written whole`() {
        #expect(InsightNames(["a"])["123456789012"] == "123456789012")
    }
}
