import HealthModel
import HealthStore
import Testing

@testable import Import

@Suite struct ExportScannerTests {
    /// Each row is a record that must be read as heart rate 61, and what must be noted of it.
    @Test(arguments: [
        (heartRate(), [:]),
        (
            "<Record value='61' endDate='2024-01-21 08:30:00 -0500'\r\n\t"
                + "startDate = '2024-01-21 08:30:00 -0500' sourceName='a' unit='count/min' "
                + "type='HKQuantityTypeIdentifierHeartRate' />", [:]
        ),
        (heartRate(value: #"value="61" key="a > b""#), [:]),
        (heartRate(value: #"value="61" key='say "hi"'"#), [:]),
        (heartRate(value: #"value="61" value="62""#), ["duplicate attribute": 1]),
        (
            heartRate(value: #"value="61" Scale App Version="2""#),
            ["attribute name with a space": 1]
        ),
        (heartRate(value: "value=61"), ["attribute value without quotes": 1]),
        (heartRate(value: #"value="61" key"#), ["attribute without a value": 1]),
        (heartRate(value: #"value="61" / "#), ["stray character in a tag": 1]),
        (heartRate(value: #"value="61" ="x""#), ["stray character in a tag": 1]),
        (heartRate(value: #"value="61" key="a < b""#), ["raw less-than sign": 1]),
        (heartRate(value: #"value="61" key="a & b""#), ["raw ampersand": 1]),
        (heartRate(value: #"value="61" key="&nbsp;""#), ["unknown entity": 1]),
        (heartRate(value: #"value="61" key="&#11;&#x1F;""#), ["illegal character reference": 2]),
        (heartRate(value: "value=\"61\" key=\"a\u{0B}b\u{01}\""), ["control character": 2]),
        (heartRate() + "<!-- <Record/> > -- -> -->", [:]),
        (heartRate() + "<![CDATA[ <Record type=\"x\"/> ] ]> ]]>", [:]),
        (heartRate() + "<?target <Record?>", [:]),
        (heartRate() + "some text", ["text between elements": 2]),
        (heartRate() + "1 < 2", ["text between elements": 3]),
        (
            "<ActivitySummary x='\(heartRate())'></ActivitySummary>" + heartRate(),
            ["raw less-than sign": 1]
        ),
        (heartRate() + "<!DOCTYPE x>", ["malformed document type": 1]),
    ])
    func `a record is read in spite of what is wrong around it`(
        body: String, malformations: [String: Int64]
    ) throws {
        let result = try reading(body: body)

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.malformations == malformations)
        #expect(result.report.recordsRead == 1)
        #expect(result.report.brokeAt == nil)
    }

    @Test func `an element whose name begins like a record's is an unknown element`() throws {
        let result = try reading(
            body: heartRate() + "<Workouts/><Recorder type='x'/><RecordX/>")
        let report = result.report

        // Each counts as read, and none has a date.
        #expect(result.samples == [.heartRate(61)])
        #expect(report.recordsRead == 4 && report.unexplained == 0)
        #expect(report.refused == ["unknown element without a date, or too long": 3])
        #expect(report.malformations == [:] && report.brokeAt == nil)
    }

    @Test(arguments: [
        [0xE9], [0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x80],
        [0xF0, 0x8F, 0xBF, 0xBF],
    ])
    func `bytes that are not UTF-8 are replaced and counted`(bytes: [UInt8]) throws {
        let parts = heartRate(source: "sourceName=\"Jos|\"").split(separator: "|")
        let text =
            Array("<HealthData>".utf8) + Array(parts[0].utf8) + bytes + Array(parts[1].utf8)
            + Array("</HealthData>".utf8)

        let result = try reading(text)

        #expect(
            result.samples.map(\.source) == [
                String(decoding: Array("Jos".utf8) + bytes, as: UTF8.self)
            ])
        #expect(Array(result.report.malformations.keys) == ["bad UTF-8"])
        #expect(result.report.firstOffsets["bad UTF-8"] == Int64(12 + parts[0].utf8.count))
    }

    @Test func `good UTF-8 of every length is no malformation`() throws {
        let result = try reading(
            body: heartRate(
                source: "sourceName=\"Jos\u{E9}\u{2019}s\u{A0}Watch \u{1F3C3}\u{D7FF}\u{E000}\""))

        #expect(result.report.malformations == [:])
        #expect(
            result.samples.map(\.source) == [
                "Jos\u{E9}\u{2019}s\u{A0}Watch \u{1F3C3}\u{D7FF}\u{E000}"
            ])
    }

    @Test func `the first offset of a malformation is its byte in the text`() throws {
        let text = "<HealthData>\n<X a='\u{0B}'/><X a='\u{0B}' b&='1'/></HealthData>"

        let report = try reading(Array(text.utf8)).report

        #expect(report.malformations == ["control character": 2, "raw ampersand": 1])
        #expect(report.firstOffsets == ["control character": 19, "raw ampersand": 33])
    }

    @Test func `a tag that is never closed ends where the next begins`() throws {
        let result = try reading(body: "<Record type=\"x\" \n" + heartRate())

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.refused == ["unclosed tag": 1])
        #expect(result.report.malformations == ["unclosed tag": 1])
        #expect(result.report.unexplained == 0)
    }

    @Test func `an end tag or a name that is never closed ends where the next tag begins`() throws {
        let result = try reading(
            body: "<Correlation></Correlation <Rec<Me a='1'/>" + heartRate())

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.malformations == ["unclosed tag": 2])
    }

    @Test func `records inside a correlation are passed over`() throws {
        let result = try reading(
            body:
                "<Correlation type='Food'>\(heartRate())<MetadataEntry/>\(heartRate())</Correlation>"
                + "<Correlation/>" + heartRate())

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.recordsRead == 1)
        #expect(result.report.nestedSkipped == 2)
    }

    @Test func `a correlation that is never closed ends at the next element beside it`() throws {
        let result = try reading(
            body: "<Correlation>\(heartRate())<Workout/>\(heartRate())<Correlation>\(heartRate())")

        // The workout counts as a record too.
        #expect(result.report.recordsRead == 2)
        #expect(result.report.nestedSkipped == 2)
        #expect(result.report.malformations == ["unclosed correlation": 2])
    }

    @Test func `records of a second root count too`() throws {
        let root = "<HealthData>\(heartRate())</HealthData>\n"

        let result = try reading(Array("\(root)\(root)".utf8))

        #expect(result.samples.count == 2)
        #expect(result.report.malformations == ["second root": 1])
        #expect(result.report.brokeAt == nil)
    }

    @Test(arguments: [
        ("\u{FEFF}<?xml version=\"1.0\"?>\n", [:]),
        ("<!-- <HealthData> <Record/> -->", [:]),
        (
            "<!DOCTYPE HealthData [\n<!ELEMENT HealthData (Me)>\n<!ATTLIST HealthData\n a CDATA #IMPLIED\n>\n]>",
            [:]
        ),
        (
            "<!DOCTYPE HealthData [\n<!ATTLIST RightEye\n a CDATA #IMPLIED\n"
                + "<!ELEMENT MetadataEntry EMPTY>\n>\n]>", ["malformed document type": 1]
        ),
        (
            "<!DOCTYPE HealthData [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>",
            ["entity declaration": 2]
        ),
        ("<HealthDatabase/>\u{0}\u{0B} & ", [:]),
    ])
    func `what stands before the root is passed over`(
        prologue: String, malformations: [String: Int64]
    ) throws {
        let text = "\(prologue)\n<HealthData>\(heartRate())</HealthData>"

        let result = try reading(Array(text.utf8))

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.malformations == malformations)
    }

    @Test func `a declared entity is never expanded`() throws {
        let text = """
            <!DOCTYPE HealthData [<!ENTITY x SYSTEM "file:///etc/hostname">]>
            <HealthData>\(heartRate(source: #"sourceName="&x;""#))&x;</HealthData>
            """

        let result = try reading(Array(text.utf8))

        #expect(result.samples.map(\.source) == ["&x;"])
        #expect(
            result.report.malformations == [
                "entity declaration": 1, "unknown entity": 1, "text between elements": 1,
            ])
    }

    @Test(arguments: [
        ("", 0, "the text ends before its root `HealthData`"),
        ("<?xml version=\"1.0\"?>", 21, "the text ends before its root `HealthData`"),
        ("<HealthData>", 12, "the text ends before `</HealthData>`"),
        ("<HealthData> ", 13, "the text ends before `</HealthData>`"),
        ("<HealthData> <Rec", 13, "the text ends inside a tag"),
        ("<HealthData> <Record type=\"a", 13, "the text ends inside a tag"),
        ("<HealthData> <Record type=\"a\" /", 13, "the text ends inside a tag"),
        ("<HealthData> </HealthDat", 13, "the text ends inside a tag"),
        ("<HealthData> <!-- ab -", 22, "the text ends inside a comment"),
        ("<HealthData> <![CDATA[ ]", 24, "the text ends inside a CDATA section"),
    ])
    func `a text that ends too early says where and in what`(
        text: String, offset: Int64, reason: String
    ) throws {
        let report = try reading(Array(text.utf8)).report

        #expect(report.brokeAt == SourceBreak(byteOffset: offset, reason: reason))
        #expect(report.recordsRead == 0)
    }

    @Test func `the records before a truncated end stand`() throws {
        let text = "<HealthData>\(heartRate())<Record type=\"HKQuantityType"

        let result = try reading(Array(text.utf8))

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.brokeAt?.byteOffset == Int64(12 + heartRate().utf8.count))
    }
}
