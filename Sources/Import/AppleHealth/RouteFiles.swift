import CArchive
import Glibc
import HealthStore
import ClarityScheduler
import JSON

/// The GPX files of workout routes beside the text of an export.
struct RouteFiles {
    /// The most bytes of one file: 64 MiB, some 300,000 points. A longer file is left out.
    private static let longest: Int64 = 64 << 20

    /// The export: a zip archive or a folder.
    let place: SourcePlace

    /// Passes the text of each file to `each`, with the name by which a workout refers to it; `nil`
    /// for a file that cannot be read.
    ///
    /// - Throws: `SourceError` if the archive or the folder cannot be opened; the errors of `each`.
    func forEach(_ each: (_ name: String, _ text: [UInt8]?) throws -> Void) throws {
        let file = try OpenFile(place)
        if file.isFolder { return try forEach(inFolder: each) }
        let head = try file.head(ExportSignature.length)
        guard head.withUnsafeBufferPointer(ExportSignature.isZip) else { return }
        let members = try ArchiveMembers(file, path: place.path)
        while try advance(members) {
            guard let name = members.name, Attachments(name: name) == .workoutRoutes else {
                continue
            }
            try each(RouteFiles.reference(name), text(of: members))
        }
    }

    private func forEach(
        inFolder each: (_ name: String, _ text: [UInt8]?) throws -> Void
    ) throws {
        let root = try OpenFolder(place)
        for folderName in try ExportSource.entries(root) {
            let folder: OpenFolder
            let names: [String]
            do throws(SourceError) {
                folder = try OpenFolder(folderName, below: root)
                names = try ExportSource.entries(folder)
            } catch {
                continue  // A file, or a folder that the reading has counted as one.
            }
            for name in names where Attachments(name: Array(name.utf8)) == .workoutRoutes {
                try each("/\(folderName)/\(name)", text(ofFile: name, in: folder))
            }
        }
    }

    /// Moves to the next member. If the archive breaks off behind the export, the routes end there.
    private func advance(_ members: ArchiveMembers) throws -> Bool {
        do throws(ByteSourceBreak) {
            return try members.advance()
        } catch {
            return false
        }
    }

    private func text(of members: ArchiveMembers) -> [UInt8]? {
        var text: [UInt8] = []
        do throws(ByteSourceBreak) {
            while let block = try members.nextBlock() {
                guard Int64(text.count + block.count) <= RouteFiles.longest else { return nil }
                text += block
            }
            return text
        } catch {
            return nil
        }
    }

    private func text(ofFile name: String, in folder: OpenFolder) -> [UInt8]? {
        do throws(SourceError) {
            return try RegularFile(try OpenFile(name, in: folder)).bytes(
                atMost: Int(RouteFiles.longest))
        } catch {
            return nil
        }
    }

    /// Returns the folder and the name of a member as a workout's `FileReference` has them:
    /// `/workout-routes/route_2026-01-31_8.05am.gpx`.
    private static func reference(_ name: [UInt8]) -> String {
        let parts = name.split(separator: .slash).suffix(2)
        return "/" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
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
