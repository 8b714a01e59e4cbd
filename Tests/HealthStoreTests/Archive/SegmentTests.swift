import ClarityScheduler
import Testing

@testable import HealthStore

@Suite("Segments as bytes")
struct SegmentTests {
    private let compressor: Compressor
    private let decompressor: Decompressor

    init() throws {
        compressor = try Compressor(level: 3)
        decompressor = try Decompressor()
    }

    /// Returns a segment of records with anything in them.
    private func segment(
        _ count: Int, _ random: inout some RandomNumberGenerator
    ) -> Segment {
        var segment = Segment()
        for number in 0..<9 { _ = segment.texts.index(of: [UInt8](repeating: 7, count: number)) }
        func any() -> Int64 {
            let bits = UInt64.random(in: 0...64, using: &random)
            return Int64(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random))
                >> (64 - bits)
        }
        func text() -> UInt32 { UInt32.random(in: 0..<9, using: &random) }
        for _ in 0..<count {
            let value: ArchivedRecord.Value =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: .none
                case 1: .text(text())
                default:
                    .number(mantissa: any(), decimals: UInt8.random(in: 0...18, using: &random))
                }
            segment.records.append(
                ArchivedRecord(
                    start: any(), end: any(), created: Bool.random(using: &random) ? any() : nil,
                    offsets: ClockOffsets(
                        start: Int16(truncatingIfNeeded: any()),
                        end: Int16(truncatingIfNeeded: any()),
                        created: Int16(truncatingIfNeeded: any())),
                    origin: text(), value: value,
                    metadata: Bool.random(using: &random) ? text() : nil))
        }
        return segment
    }

    /// Returns what the records say, with their texts in place of indices.
    private func content(_ segment: Segment) -> [String] {
        segment.records.map { record in
            var value = "none"
            if case .number(let mantissa, let decimals) = record.value {
                value = "\(mantissa)/\(decimals)"
            } else if case .text(let index) = record.value {
                value = "\(segment.texts[index])"
            }
            return "\(record.start) \(record.end) \(record.created as Any) \(record.offsets) "
                + "\(segment.texts[record.origin]) \(value) "
                + "\(record.metadata.map { segment.texts[$0] } as Any)"
        }
    }

    @Test(arguments: [0, 1, 2, 3, 50, 3000])
    func `any records come back as they were`(count: Int) throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            let before = segment(count, &random)

            let after = try Segment(before.encoded(compressor), decompressor)

            #expect(content(after) == content(before))
        }
    }

    @Test(arguments: [1, 20, 100, 1 << 20])
    func `a segment of much text is divided into some of less, in the same order`(
        most: Int
    ) throws {
        var random = SystemRandomNumberGenerator()
        let whole = segment(200, &random)

        let parts = whole.parts(ofText: most)

        #expect(parts.flatMap(content) == content(whole))
        #expect((parts.count == 1) == (most >= whole.texts.size))
        #expect(parts.allSatisfy { $0.records.count == 1 || $0.texts.size <= most })
    }

    @Test func `records of a sensor take a few bytes each`() throws {
        var segment = Segment()
        let origin = segment.texts.index(of: RecordOrigin(source: "Invented watch").bytes)
        for number in Int64(0)..<10_000 {
            segment.records.append(
                ArchivedRecord(
                    start: noon.secondsSince1970 + number * 5 + number % 3, end: 0, created: nil,
                    offsets: ClockOffsets(), origin: origin,
                    value: .number(mantissa: 60 + number * number % 30, decimals: 0)))
            segment.records[Int(number)].end = segment.records[Int(number)].start
        }

        #expect(segment.encoded(compressor).count < 20_000)
    }

    @Test func `bytes that were cut or changed are refused or read as other records`() throws {
        var random = SystemRandomNumberGenerator()
        let bytes = segment(40, &random).encoded(compressor)
        for count in bytes.indices {
            #expect(throws: ArchiveError.malformed) {
                try Segment(Array(bytes[..<count]), decompressor)
            }
            #expect(throws: ArchiveError.malformed) {
                try Segment.origins(in: Array(bytes[..<count]), decompressor)
            }
        }
        for _ in 0..<5000 {
            var changed = bytes
            changed[Int.random(in: changed.indices, using: &random)] = UInt8.random(
                in: 0...255, using: &random)
            do throws(ArchiveError) {
                _ = try Segment.origins(in: changed, decompressor)
                _ = try Segment(changed, decompressor)
            } catch {
                #expect(error == .malformed)
            }
        }
    }

    @Test func `the origins of records are read without the records`() throws {
        var random = SystemRandomNumberGenerator()
        for count in [0, 1, 2, 300] {
            let segment = segment(count, &random)

            let origins = try Segment.origins(in: segment.encoded(compressor), decompressor)

            #expect(Set(origins) == Set(segment.records.map { segment.texts[$0.origin] }))
        }
    }

    @Test(arguments: [
        "0", "7", "-7", "72", "0.5", "0.50", "-0.5", "123456789012345678", "0.00736402",
        "1.00000000000000000", "1000000", "12.5",
    ])
    func `a number comes back as it was written`(text: String) throws {
        let number = try #require(Array(text.utf8).withUnsafeBufferPointer(RecordNumber.parse))

        #expect(RecordNumber.text(mantissa: number.mantissa, decimals: number.decimals) == text)
    }

    @Test(arguments: [
        "0.105441", "0.3", "-71.35", "125.460839", "9007199254740993",
        "123456789012345678", "0.12345678901234567", "9007199254740992.5",
    ])
    func `a number is the nearest that a machine has`(text: String) throws {
        let number = try #require(Array(text.utf8).withUnsafeBufferPointer(RecordNumber.parse))
        let value = ArchivedRecord.Value.number(
            mantissa: number.mantissa, decimals: number.decimals)

        #expect(value.number == Double(text))
    }

    @Test(arguments: [
        "", "-", ".", "-0", "-0.0", "007", "00", ".5", "5.", "1.2.3", "1e5", "+1", " 1", "1 ", "x",
        "1234567890123456789", "0.1234567890123456789", "HKCategoryValueNotApplicable",
    ])
    func `what would be written in another way is no number`(text: String) {
        #expect(Array(text.utf8).withUnsafeBufferPointer(RecordNumber.parse) == nil)
    }

    @Test func `an origin comes back with what it lacks`() {
        for origin in [
            RecordOrigin(), RecordOrigin(source: ""), RecordOrigin(source: "a", unit: "m"),
            RecordOrigin(source: "a", version: "b", device: "c", unit: "d", type: "e"),
        ] {
            #expect(RecordOrigin(origin.bytes) == origin)
        }
    }

    @Test(arguments: ["\u{0}", "\u{2}", "a\u{0}b", "\n"])
    func `a control character in one part shifts no other part`(text: String) {
        let origin = RecordOrigin(source: text, device: text, unit: "m", type: "e")

        let read = RecordOrigin(origin.bytes)

        let blank = text.count == 1 ? " " : "a b"
        #expect(read == RecordOrigin(source: blank, device: blank, unit: "m", type: "e"))
    }
}
