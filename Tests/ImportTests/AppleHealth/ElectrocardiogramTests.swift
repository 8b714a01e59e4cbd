import JSON
import Testing

@testable import HealthStore
@testable import Import

@Suite("Electrocardiograms")
struct ElectrocardiogramTests {
    private static let english = """
        Name,Alex Example
        Date of Birth,"Jan 5, 1980"
        Recorded Date,2026-01-31 08:30:00 +0130
        Classification,Sinus Rhythm
        Symptoms,Rapid, pounding heartbeat
        Software Version,1.90
        Device,"Watch6,7"
        Sample Rate,2.5 hertz


        Lead,Lead I
        Unit,µV

        -265.868
        12
        0.5
        3
        -1
        """
    /// As a phone in German writes the same.
    private static let german = """
        Name,Alex Example
        Geburtsdatum,"5. Jan. 1980"
        Aufzeichnungsdatum,2026-01-31 08:00:00 +0100
        Klassifizierung,Sinusrhythmus
        Symptome,Keine
        Softwareversion,1.90
        Gerät,"Watch6,7"
        Messrate,"2,5 Hertz"
        Ableitung,Ableitung I
        Einheit,µV
        -265,868
        12
        0,5
        3
        -1
        """

    private func line(_ text: String) throws -> String {
        var archiving = RecordArchiving()
        archiving.add(try Electrocardiogram(text).record())
        return try #require(try archiving.collector.lines().first)
    }

    private let times = "1769842800 1769842802 - "
    private let curve = "curve|-265.868 12 0.5 3 -1|}"

    @Test func `a file is kept with its heading and its curve, from its first to its last second`()
        throws
    {
        let windows = "\u{FEFF}" + Self.english.replacing("\n", with: "\r\n") + "\r\n"

        let found = try line(Self.english)

        #expect(
            found
                == "HKDataTypeIdentifierElectrocardiogram -|1.90|Watch6,7|µV|-| \(times)90 "
                + "'Sinus Rhythm' {Name|Alex Example|Date of Birth|Jan 5, 1980|"
                + "Symptoms|Rapid, pounding heartbeat|Sample Rate|2.5 hertz|Lead|Lead I|\(curve)")
        #expect(try line(windows) == found)
    }

    @Test func `in another language the order of the lines says what they are`() throws {
        #expect(
            try line(Self.german)
                == "HKDataTypeIdentifierElectrocardiogram -|1.90|Watch6,7|µV|-| \(times)60 "
                + "'Sinusrhythmus' {Name|Alex Example|Geburtsdatum|5. Jan. 1980|"
                + "Symptoms|Keine|Sample Rate|2,5 Hertz|Ableitung|Ableitung I|\(curve)")
    }

    @Test(
        arguments: [
            (english.replacing("2026-01-31 08:30:00 +0130", with: "yesterday"), .noDate),
            (english.replacing("12\n", with: "twelve\n"), .noCurve),
            (english.replacing("0.5\n", with: "0.5.1\n"), .noCurve),
            (String(english.prefix(160)), .noCurve), ("", .noCurve), ("5\n6\n", .noDate),
            (String(repeating: "a,b\n", count: 65) + "1\n", .noCurve),
        ] as [(String, ExportFileRefusal)])
    func `a faulty file is refused with its reason`(text: String, refusal: ExportFileRefusal) {
        #expect(throws: refusal) { try Electrocardiogram(text).record() }
    }

    @Test(arguments: ["0 hertz", "fast", "0.0000001 hertz", ""])
    func `without a usable rate the curve has no length`(rate: String) throws {
        #expect(
            try line(Self.english.replacing("2.5 hertz", with: rate))
                .contains(" 1769842800 1769842800 - 90 "))
    }
}
