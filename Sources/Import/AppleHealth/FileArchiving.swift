import HealthStore
import JSON
import ClarityScheduler

/// Keeps the files beside the text of an export for the archive: the points of a route, an
/// electrocardiogram with its curve, and clinical documents as they came.
struct FileArchiving {
    /// The most refused files that are named.
    private static let mostNames = 100

    private var records: RecordArchiving
    private let facts: ExportFacts
    /// How many files and points were kept, by name.
    private var kept: [String: Int64] = [:]
    private var refused: [String: Int64] = [:]
    /// Why files were refused, by their names.
    private var reasons: [String: String] = [:]

    init(_ collector: ArchiveCollector, _ facts: ExportFacts) {
        records = RecordArchiving(collector)
        self.facts = facts
    }

    /// Keeps a file, or counts it as refused.
    ///
    /// - Parameter name: as the text of the export refers to it.
    mutating func add(_ text: ExportFiles.Text, of sort: Attachments, _ name: String) {
        do throws(ExportFileRefusal) {
            let text = try text.get()
            switch sort {
            case .workoutRoutes: return try addPoints(text, name)
            case .electrocardiograms:
                records.add(try Electrocardiogram(FileArchiving.valid(text)).record())
            case .clinicalRecords: records.add(try resource(text, name))
            case .clinicalDocuments:
                records.add(
                    try document(
                        FileArchiving.valid(text), name, KeptFile.clinicalDocument,
                        facts.exportDate))
            case .others: return
            }
            kept[sort.element, default: 0] += 1
        } catch {
            refused[sort.element, default: 0] += 1
            if reasons.count < FileArchiving.mostNames { reasons[name] = error.rawValue }
        }
    }

    private mutating func addPoints(
        _ text: [UInt8], _ name: String
    ) throws(ExportFileRefusal) {
        var points: Int64 = 0
        let refused = RoutePoint.forEach(in: text) { point in
            records.add(point.record(of: name))
            points += 1
        }
        if points > 0 { kept[RoutePoint.type, default: 0] += points }
        if refused > 0 { self.refused[RoutePoint.type, default: 0] += refused }
        guard points > 0 || RoutePoint.isRoute(text) else { throw .noRoute }
    }

    /// Returns the record of a FHIR resource, which has the time at which the clinic's record of it
    /// was received.
    private func resource(
        _ bytes: [UInt8], _ name: String
    ) throws(ExportFileRefusal) -> UnplacedRecord {
        let text = try FileArchiving.valid(bytes)
        let type: String?
        do throws(JSONFault) {
            type = try JSONParser.parse(bytes)["resourceType"]?.text
        } catch {
            throw .noResource
        }
        guard let type else { throw .noResource }
        var record = try document(
            text, name, KeptFile.clinicalResource, facts.received[name] ?? facts.exportDate)
        record.value = Array(type.utf8)
        return record
    }

    /// Returns a record with a whole file.
    private func document(
        _ text: String, _ name: String, _ type: String, _ date: HealthKitDate?
    ) throws(ExportFileRefusal) -> UnplacedRecord {
        guard let date else { throw .noDate }
        return UnplacedRecord(
            type: type,
            record: ArchivedRecord(
                start: date.seconds, end: date.seconds, created: nil,
                offsets: ClockOffsets(start: date.offset, end: date.offset), origin: 0,
                value: .none),
            origin: RecordOrigin(source: name),
            members: [JSON.Member(name: KeptFile.content, value: .string(text))])
    }

    /// Returns the text of a file, which the archive can give back byte for byte.
    private static func valid(_ bytes: [UInt8]) throws(ExportFileRefusal) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw .notText
        }
        return text
    }

    /// Adds the records and the counts to the report.
    func write(to report: inout SourceReport) {
        report.records = records.collector
        report.elements.merge(kept, uniquingKeysWith: +)
        report.elementsRefused.merge(refused, uniquingKeysWith: +)
        report.filesRefused = reasons
    }
}

/// A point of a route in a GPX file (https://www.topografix.com/GPX/1/1/), as a phone writes it:
///
///     <trkpt lon="13.40" lat="52.52"><ele>34.1</ele><time>2026-01-31T07:05:00Z</time>
///     <extensions><speed>2.8</speed><course>91.5</course><hAcc>3</hAcc><vAcc>2</vAcc></extensions></trkpt>
struct RoutePoint {
    /// What the archive calls the points of all routes.
    static let type = "WorkoutRoutePoint"
    /// The elements of a point whose texts are kept.
    private static let elements: [StaticString] = ["ele", "speed", "course", "hAcc", "vAcc"]

    let time: Instant
    /// The attributes and elements by their names in the file, as they were written.
    let members: [JSON.Member]

    /// Passes each point of a text to `each`. Points without a place or a time are left out.
    ///
    /// - Returns: the number of points that were left out.
    static func forEach(in text: [UInt8], _ each: (RoutePoint) throws -> Void) rethrows -> Int64 {
        var refused: Int64 = 0
        try text.withUnsafeBufferPointer { text in
            var place = 0
            while let start = find("<trkpt", in: text, from: place) {
                let next = find("<trkpt", in: text, from: start + 1) ?? text.count
                let end = find("</trkpt>", in: Bytes(rebasing: text[..<next]), from: start) ?? next
                place = next
                if let point = RoutePoint(Bytes(rebasing: text[start..<end])) {
                    try each(point)
                } else {
                    refused += 1
                }
            }
        }
        return refused
    }

    /// Whether a text without points is that of a route.
    static func isRoute(_ text: [UInt8]) -> Bool {
        text.withUnsafeBufferPointer { find("<gpx", in: $0, from: 0) != nil }
    }

    private init?(_ text: Bytes) {
        guard let head = text.firstIndex(of: .greaterThan, from: 0),
            let time = RoutePoint.content(of: "time", in: text, from: head),
            let instant = Instant(rfc3339: Reference.text(time))
        else { return nil }
        var members: [JSON.Member] = []
        for (name, start) in [("lat", " lat=" as StaticString), ("lon", " lon=")] {
            guard let value = RoutePoint.attribute(start, in: text, to: head) else { return nil }
            members.append(JSON.Member(name: name, value: .string(value)))
        }
        for name in RoutePoint.elements {
            guard let value = RoutePoint.content(of: name, in: text, from: head) else { continue }
            members.append(JSON.Member(name: "\(name)", value: .string(Reference.text(value))))
        }
        self.time = instant
        self.members = members
    }

    /// Returns the record of the point for the archive; its source is the file.
    func record(of file: String) -> UnplacedRecord {
        UnplacedRecord(
            type: RoutePoint.type,
            record: ArchivedRecord(
                start: time.secondsSince1970, end: time.secondsSince1970, created: nil,
                offsets: ClockOffsets(), origin: 0, value: .none),
            origin: RecordOrigin(source: file), members: members)
    }

    /// Returns a decimal number in quotes behind ` name=`.
    private static func attribute(_ start: StaticString, in text: Bytes, to end: Int) -> String? {
        guard let found = find(start, in: text, from: 0) else { return nil }
        let from = found + start.utf8CodeUnitCount
        guard from < end, text[from] == .quote || text[from] == .apostrophe,
            let to = text.firstIndex(of: text[from], from: from + 1), to < end
        else { return nil }
        let value = Bytes(rebasing: text[(from + 1)..<to])
        return DecimalNumber.parse(value) == nil ? nil : String(decoding: value, as: UTF8.self)
    }

    /// Returns what is between `<name>` and the next tag.
    private static func content(of name: StaticString, in text: Bytes, from: Int) -> Bytes? {
        var place = from
        while let found = text.firstIndex(of: .lessThan, from: place) {
            place = found + 1
            let end = place + name.utf8CodeUnitCount
            guard end < text.count, text.reads(name, at: place), text[end] == .greaterThan else {
                continue
            }
            guard let to = text.firstIndex(of: .lessThan, from: end + 1) else { return nil }
            return Bytes(rebasing: text[(end + 1)..<to])
        }
        return nil
    }

    private static func find(_ wanted: StaticString, in text: Bytes, from: Int) -> Int? {
        guard wanted.utf8CodeUnitCount > 0 else { return nil }
        var place = from
        while let found = text.firstIndex(of: wanted.utf8Start[0], from: place) {
            if text.hasPrefix(wanted, at: found) { return found }
            place = found + 1
        }
        return nil
    }
}

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
