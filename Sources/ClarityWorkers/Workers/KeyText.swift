public import ClarityJobs
import ClarityScheduler

// The master key's state and its changes, for people and for programs, without the key.

extension KeyStatus {
    /// Lines for people.
    public var lines: [String] {
        var lines = [
            "the master key is in \(place)",
            since.map { "in use since \($0), \(changesText)" } ?? changesText,
        ]
        if let rotation {
            let way = rotation.isUnderWay ? "is under way" : "was cut short"
            lines.append(
                "a change of the key \(way) since \(rotation.begunAt): \(rotation.newRows) rows are "
                    + "the new key's, \(rotation.formerRows) the former one's")
            if !rotation.isUnderWay { lines.append("finish it with `clarity-jobs key rotate`") }
        }
        return lines.map(\.forReport)
    }

    private var changesText: String {
        switch changes {
        case 0: "never changed"
        case 1: "changed once"
        default: "changed \(changes) times"
        }
    }

    /// An object with `place`, `since` and `changes`, and `rotation` while a change of the key is
    /// unfinished.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field("place", place)
            if let since { json.field("since", since.description) }
            json.field("changes", number: Int(changes))
            if let rotation {
                json.object("rotation") { json in
                    json.field("begun_at", rotation.begunAt.description)
                    json.field("under_way", rotation.isUnderWay)
                    json.field("new_rows", number: Int(rotation.newRows))
                    json.field("former_rows", number: Int(rotation.formerRows))
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension KeyRotationReport {
    /// Lines for people.
    public var lines: [String] {
        var lines = [
            resumedFrom.map { "finished the change of the master key that began at \($0)" }
                ?? "the master key was changed",
            "\(rows) rows are sealed with the new key",
        ]
        if damaged > 0 { lines.append("\(damaged) rows were damaged before and stay so") }
        lines.append("backups of before open with the former key alone; make a new one")
        if let placeToFill {
            lines.append("put the new key into \(placeToFill) now: the former one opens nothing")
        }
        return lines.map(\.forReport)
    }

    /// An object with `rows` and `damaged`, and where they apply `resumed_from` and
    /// `put_new_key_into`, which names where the new key belongs.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field("rows", number: Int(rows))
            json.field("damaged", number: Int(damaged))
            if let resumedFrom { json.field("resumed_from", resumedFrom.description) }
            if let placeToFill { json.field("put_new_key_into", placeToFill) }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
