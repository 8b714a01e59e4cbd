import ClarityScheduler
import Testing

@testable import HealthStore
@testable import Import

/// What an export's text says of a record, and what the archive gets of it.
@Suite("Records for the archive")
struct RecordArchivingTests {
    /// Reads a text and returns its records as lines.
    private func lines(_ body: String) throws -> [String] {
        try #require(try reading(body: body).report.records).lines()
    }

    private let dates =
        #"creationDate="2026-01-31 08:31:00 +0130" startDate="2026-01-31 08:30:00 +0130" "#
        + #"endDate="2026-01-31 08:30:30 +0130""#
    private let times = "1769842800 1769842830 1769842860 90"

    @Test func `a record is kept with everything that its tag says`() throws {
        let found = try lines(
            """
            <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="A &amp; B" \
            sourceVersion="10.1" device="&lt;&lt;HKDevice: 0x28304a0d0&gt;, name:Watch&gt;" \
            unit="count/min" \(dates) value="71.50"/>
            <Record type="HKCategoryTypeIdentifierAppleStandHour" sourceName="B" \(dates) \
            value="HKCategoryValueAppleStandHourStood"/>
            <Record type="HKQuantityTypeIdentifierBodyMass" \(dates)/>
            """)

        #expect(
            Set(found) == [
                "HKQuantityTypeIdentifierHeartRate A & B|10.1|<<HKDevice: >, name:Watch>"
                    + "|count/min|-| \(times) 71.50",
                "HKCategoryTypeIdentifierAppleStandHour B|-|-|-|-| \(times) "
                    + "'HKCategoryValueAppleStandHourStood'",
                "HKQuantityTypeIdentifierBodyMass -|-|-|-|-| \(times) none",
            ])
    }

    @Test func `metadata belongs to the record around it`() throws {
        let found = try lines(
            """
            <Record type="T" sourceName="a" \(dates) value="1">
              <MetadataEntry key="k" value="v &amp; w"/>
              <MetadataEntry key="empty" value=""/>
            </Record>
            <Record type="T" sourceName="b" \(dates) value="2"/>
            """)

        #expect(
            found == [
                "T a|-|-|-|-| \(times) 1 {k|v & w|empty||}", "T b|-|-|-|-| \(times) 2",
            ])
    }

    @Test func `the order of the attributes makes no difference`() throws {
        let found = try lines(
            """
            <Record type="T" sourceName="a" unit="m" \(dates) value="1"/>
            <Record \(dates) value="1" unit="m" type="T" sourceName="a"/>
            """)

        #expect(found == Array(repeating: "T a|-|-|m|-| \(times) 1", count: 2))
    }

    @Test func `a type that is no plain name stands in the origin`() throws {
        let found = try lines(#"<Record type="a type/name" sourceName="s" \#(dates) value="1"/>"#)

        #expect(found == ["(other types) s|-|-|-|a type/name| \(times) 1"])
    }

    @Test func `a record that cannot be sent is kept if its dates can be read`() throws {
        let found = try lines(
            """
            <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="s" unit="count/min" \
            \(dates) value="-1"/>
            <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="s" value="1"/>
            <Record sourceName="s" \(dates) value="1"/>
            """)

        #expect(found == ["HKQuantityTypeIdentifierHeartRate s|-|-|count/min|-| \(times) -1"])
    }
}

extension ArchiveCollector {
    /// Returns the records as lines: type, origin, times, value, metadata.
    func lines() throws -> [String] {
        let decompressor = try Decompressor()
        return try keys().flatMap { key, bucket in
            let segment = try segment(bucket, decompressor)
            return segment.records.map { record in
                func text(_ index: UInt32) -> String {
                    String(decoding: segment.texts[index], as: UTF8.self)
                        .replacing("\0", with: "|").replacing("\u{2}", with: "-")
                }
                var value = ""
                switch record.value {
                case .none: value = "none"
                case .number(let mantissa, let decimals):
                    value = RecordNumber.text(mantissa: mantissa, decimals: decimals)
                case .text(let index): value = "'\(text(index))'"
                }
                let metadata = record.metadata.map { " {\(text($0))}" } ?? ""
                return "\(key.type) \(text(record.origin)) \(record.start) \(record.end) "
                    + "\(record.created.map { "\($0)" } ?? "-") \(record.offsets.start) "
                    + "\(value)\(metadata)"
            }
        }
    }
}
