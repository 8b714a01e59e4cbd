import ClarityScheduler
import HealthStore
import JSON

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
