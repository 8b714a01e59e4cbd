public import HealthStore
import ClarityScheduler
import Platform
public import JSON

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
    public var object: JSON {
        let unfinished = rotation.map { rotation -> JSON in
            [
                "begun_at": .text(rotation.begunAt), "under_way": .bool(rotation.isUnderWay),
                "new_rows": .integer(rotation.newRows),
                "former_rows": .integer(rotation.formerRows),
            ]
        }
        let object: JSON = [
            "place": .string(place), "since": .text(since), "changes": .integer(changes),
            "rotation": unfinished ?? .null,
        ]
        return object.withoutNulls
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
    public var object: JSON {
        let object: JSON = [
            "rows": .integer(rows), "damaged": .integer(damaged),
            "resumed_from": .text(resumedFrom), "put_new_key_into": .text(placeToFill),
        ]
        return object.withoutNulls
    }
}
