import HealthStore
import JSON

/// An electrocardiogram in a CSV file, as a phone writes it:
///
///     Recorded Date,2026-01-31 08:05:12 +0100
///     Classification,Sinus Rhythm
///     Symptoms,
///     Software Version,1.90
///     Device,"Watch6,7"
///     Sample Rate,512.411 hertz
///
///     Lead,Lead I
///     Unit,µV
///
///     -12.345
///
/// The words are in the phone's language, and the numbers have its decimal point or comma. The lines
/// have the same order in every language.
struct Electrocardiogram {
    private struct Line {
        let name: String
        let value: String

        /// Divides a line at its first comma. A value may be in quotes.
        init(_ line: Substring) {
            let parts = line.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
            name = String(parts[0])
            var value = parts.count > 1 ? parts[1] : ""
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = value.dropFirst().dropLast()
            }
            self.value = String(value).replacing("\"\"", with: "\"")
        }

        /// The value as a date.
        var date: HealthKitDate? {
            Array(value.utf8).withUnsafeBufferPointer(HealthKitDate.init)
        }
    }

    /// The most lines in front of the curve; no phone writes half as many.
    private static let mostLines = 64
    private static let units: Set = ["V", "mV", "µV", "\u{3BC}V", "uV"]
    /// The lines behind the date in English. What stands in a column of the record comes first.
    private static let names = [
        "Classification", "Symptoms", "Software Version", "Device", KeptFile.rate,
    ]

    private var lines: [Line] = []
    /// The numbers, with a blank behind each.
    private var curve: [UInt8] = []
    private var count = 0

    /// Reads the text of a file.
    init(_ text: String) throws(ExportFileRefusal) {
        let mark: Unicode.Scalar = "\u{FEFF}"
        let text = text.unicodeScalars.drop { $0 == mark }
        for line in Substring(text).utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard line.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { continue }
            if append(number: line) {
                count += 1
            } else {
                // Text within the curve would be a gap in it.
                guard count == 0, lines.count < Electrocardiogram.mostLines else { throw .noCurve }
                lines.append(Line(Substring(line)))
            }
        }
        guard count > 0 else { throw .noCurve }
    }

    /// Appends the number in a line to the curve; returns `false` for any other line.
    private mutating func append(number line: Substring.UTF8View) -> Bool {
        let before = curve.count
        var (digits, points) = (0, 0)
        for byte in line {
            switch byte {
            case 0x30...0x39:
                digits += 1
                curve.append(byte)
            case UInt8(ascii: "-") where curve.count == before: curve.append(byte)
            case UInt8(ascii: "."), UInt8(ascii: ","):
                points += 1
                curve.append(UInt8(ascii: "."))
            case 0x20, 0x09: continue
            default: points = 2
            }
            guard points < 2 else { break }
        }
        guard digits > 0, points < 2, curve.last != UInt8(ascii: ".") else {
            curve.removeLast(curve.count - before)
            return false
        }
        curve.append(0x20)
        return true
    }

    /// Makes the record for the archive. Its classification, version, device and unit are in columns,
    /// all other lines are its metadata, and so is the curve. The date is the start alone: another
    /// export writes the same one with another offset.
    func record() throws(ExportFileRefusal) -> UnplacedRecord {
        guard let dated = lines.firstIndex(where: { $0.date != nil }),
            let date = lines[dated].date
        else { throw .noDate }
        let isTranslated = lines[dated].name != "Recorded Date"
        var columns: [String: String] = [:]
        var members: [JSON.Member] = []
        for (index, line) in lines.enumerated() where index != dated {
            let place = index - dated - 1
            var name = line.name
            if Electrocardiogram.units.contains(line.value) {
                name = "Unit"
            } else if isTranslated, Electrocardiogram.names.indices.contains(place) {
                name = Electrocardiogram.names[place]
            }
            switch name {
            case "Classification", "Software Version", "Device", "Unit": columns[name] = line.value
            default: members.append(JSON.Member(name: name, value: .string(line.value)))
            }
        }
        let rate = members.first { $0.name == KeptFile.rate }?.value.text
            .flatMap(KeptFile.leadingNumber)
        let curve = String(decoding: curve.dropLast(), as: UTF8.self)
        members.append(JSON.Member(name: KeptFile.curve, value: .string(curve)))
        return UnplacedRecord(
            type: KeptFile.electrocardiogram,
            record: ArchivedRecord(
                start: date.seconds, end: date.seconds + seconds(at: rate ?? 0), created: nil,
                offsets: ClockOffsets(start: date.offset, end: date.offset), origin: 0,
                value: .none),
            origin: RecordOrigin(
                version: columns["Software Version"], device: columns["Device"],
                unit: columns["Unit"]),
            value: columns["Classification"].map { Array($0.utf8) }, members: members)
    }

    /// Returns how long the curve is; 0 without a rate, and for one that makes it a day or more.
    private func seconds(at rate: Double) -> Int64 {
        let seconds = (Double(count) / rate).rounded()
        return seconds < 86_400 ? Int64(seconds) : 0
    }
}
