public import HealthStore
import Platform

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
}

extension KeyStatus: Reported {
    public static let report = Report<KeyStatus>(
        [
            Column("place", "where the key is") { $0.place },
            Column("since", "since when it is in use") { $0.since },
            Column("changes", "number of rotations") { $0.changes },
            Column("rotation", "a rotation that is not finished") { $0.rotation },
        ], omitsNulls: true)
}

extension KeyStatus.Rotation: Reported {
    public static let report = Report<KeyStatus.Rotation>([
        Column("begun_at", "start of the rotation") { $0.begunAt },
        Column("under_way", "whether a process works on it") { $0.isUnderWay },
        Column("new_rows", "number of rows with the new key") { $0.newRows },
        Column("former_rows", "number of rows with the former key") { $0.formerRows },
    ])
}

extension KeyRotationReport {
    /// Lines for people.
    public var lines: [String] {
        var lines = [
            resumedFrom.map { "finished the change of the master key that began at \($0)" }
                ?? "the master key was changed",
            "\(rows) rows are encrypted with the new key",
        ]
        if damaged > 0 { lines.append("\(damaged) rows were damaged before and stay so") }
        lines.append("backups of before open with the former key alone; make a new one")
        if let placeToFill {
            lines.append("put the new key into \(placeToFill) now: the former one opens nothing")
        }
        return lines.map(\.forReport)
    }
}

extension KeyRotationReport: Reported {
    public static let report = Report<KeyRotationReport>(
        [
            Column("rows", "number of rows that are encrypted with the new key") { $0.rows },
            Column("damaged", "number of rows that were damaged before") { $0.damaged },
            Column("resumed_from", "start of the rotation that was finished") {
                $0.resumedFrom
            },
            Column("put_new_key_into", "where you have to put the new key") {
                $0.placeToFill
            },
        ], omitsNulls: true)
}
