import Platform
import ClarityScheduler
import Database

/// The part of a key rotation that encrypts the rows again.
struct Resealing {
    let connection: Connection
    let former: Sealer
    let next: Sealer
    let portion: Int

    /// The audit log comes last, because its last entry records everything else as done.
    private static let audit = "audit"

    /// Encrypts one portion again and records the progress in the same transaction.
    ///
    /// It continues with the next table when one is done.
    ///
    /// - Returns: `false` if nothing is left.
    func work(_ state: inout RotationState) throws -> Bool {
        let tables = SealedTable.all.map(\.name) + [Resealing.audit]
        var step = state
        // An empty or unknown name starts with the first table at row 0: the stored row number
        // belongs to another table.
        let start = tables.firstIndex(of: step.table) ?? 0
        let isMoved = try connection.transaction { () throws -> Bool in
            for name in tables[start...] {
                if name != step.table { (step.table, step.row) = (name, 0) }
                let count =
                    if let table = SealedTable.all.first(where: { $0.name == name }) {
                        try reseal(table, &step)
                    } else {
                        try rechain(&step)
                    }
                if count > 0 {
                    try step.write(connection)
                    return true
                }
            }
            return false
        }
        state = step
        return isMoved
    }

    /// Runs the last transaction: rewrites the canary, encrypts the former tagging keys with the
    /// new key, and appends the audit entry.
    func finish(_ state: inout RotationState, actor: AuditActor, at now: Instant) throws {
        var step = state
        try connection.transaction {
            // The note of the log's end is authenticated with the former key; opening the store
            // rewrites it.
            try Canary.write(Canary.renotedText, connection, next)
            try FormerKeys.write(former.taggingKeys, connection, next, at: now)
            let formerHead = try turnHead(state)
            try RowCounts(connection: connection, sealer: former).turn(to: next)
            let log = AuditLog(connection: connection, sealer: next)
            try log.append(
                AuditEntry(
                    .keyRotated, user: try log.user(), actor: actor,
                    counts: ["rows": step.rows, "damaged rows": step.damaged],
                    detail: "the log's head was \(hexEncoded(formerHead))"),
                at: now)
            step.phase = .placing
            try step.write(connection)
        }
        state = step
    }

    private func reseal(_ table: SealedTable, _ step: inout RotationState) throws -> Int {
        // A segment of the archive is a thousand times a row.
        let limit = table.name == "segments" ? max(1, portion / 20) : portion
        let entries = try table.entries(after: step.row, limit: limit, connection)
        for entry in entries {
            let isSound = try table.reseal(entry, from: former, to: next, connection)
            step.rows += isSound ? 1 : 0
            step.damaged += isSound ? 0 : 1
            step.row = entry.number
        }
        return entries.count
    }

    /// Encrypts audit entries again and chains them to each other.
    ///
    /// An entry with a wrong hash keeps that hash, and an entry that does not decrypt stays as it
    /// is. So the new chain is broken at the same numbers as the former one.
    private func rechain(_ step: inout RotationState) throws -> Int {
        let log = AuditLog(connection: connection, sealer: former)
        let links = try log.links(after: step.row, limit: portion)
        guard !links.isEmpty else { return 0 }
        var newHash =
            try connection.blob("SELECT hash FROM audit WHERE number = ?", .integer(step.row))
        if newHash == nil || step.formerHash == nil {
            let anchor = try AuditHead.read(connection, former)?.head.anchorHash
            newHash = anchor
            step.formerHash = anchor
        }
        for link in links {
            let row = AuditLog.row(link.number, link.at)
            let isChained =
                AuditLog.hash(after: step.formerHash ?? [], link.number, link.at, link.sealed)
                == link.hash
            if let plain = former.opened(link.sealed, for: row) {
                let sealed = next.seal(plain, for: row)
                let hash =
                    isChained
                    ? AuditLog.hash(after: newHash ?? [], link.number, link.at, sealed) : link.hash
                try connection.run(
                    "UPDATE audit SET sealed = ?, hash = ? WHERE number = ?", .blob(sealed),
                    .blob(hash), .integer(link.number))
                newHash = hash
                step.rows += 1
            } else {
                newHash = link.hash
                step.damaged += 1
            }
            step.formerHash = link.hash
            step.row = link.number
        }
        return links.count
    }

    /// Authenticates the head of the audit log with the new key.
    ///
    /// - Returns: the hash of the last entry before the rotation.
    private func turnHead(_ state: RotationState) throws -> [UInt8] {
        let found = try AuditHead.read(connection, former)
        var head = try found?.head ?? AuditHead.current(connection, former)
        let formerHash = head.lastHash
        if found?.isAuthentic != true {
            head = try AuditHead.current(connection, former)
        } else if state.row == head.lastNumber, state.formerHash == head.lastHash {
            head.lastHash =
                try connection.blob(
                    "SELECT hash FROM audit WHERE number = ?", .integer(head.lastNumber))
                ?? head.lastHash
        }
        try head.write(connection, next)
        return formerHash
    }
}
