public import HealthModel
public import ClarityScheduler
import Database

// How batches are taken out of the outbox to be sent.

extension Outbox {
    /// Takes the batches to send next, and counts the request of each against the hourly limit of its
    /// route. All of them are taken in one transaction, in which batches that the backend took are
    /// settled: a transaction costs as much as a whole batch.
    ///
    /// A batch that this store is already sending, after a network error, or whose attempt has
    /// ended, comes first. It is sent unchanged, by the route for which it was made. A batch that
    /// another living attempt sends is left to that attempt. A batch in doubt whose rules do
    /// not resend is set aside, if the backend does not deduplicate. Any other batch is dissolved
    /// only if it breaks the current rules: its samples go back into the queue.
    ///
    /// A new batch uses the first of `rules` for which samples are queued and requests are left in
    /// the hour. It is stored as `sending` before this method returns. Of a route that does not
    /// deduplicate, it is the last one of the transaction. It takes the samples with
    /// the fewest failures, in the order of `SendingOrder` as far as the limit of a type allows.
    /// Its size shrinks with each failure: `limit` / 4 after one, `limit` / 16 after two. A sample
    /// that makes every batch fail is therefore alone before it is set aside. Samples that the
    /// rules refuse are kept back with the reason. A sample whose encrypted value is damaged is set
    /// aside.
    ///
    /// - Parameters:
    ///   - most: how many batches are wanted.
    ///   - limit: how many samples of each are wanted; the rules may allow fewer.
    ///   - rules: the rules of every route of the backend, those for new batches first.
    ///   - user: the user of the session that sends the batch; `nil` skips the check of the owner.
    ///   - mostFailures: the most failures of a sample that goes into a new batch.
    ///   - metered: on a metered connection, the most bytes of bodies in 24 h.
    ///   - taken: batches that the backend took as a whole, which are settled in the same
    ///     transaction.
    ///   - underWay: the batches that the caller is sending at this moment, which stay as they are.
    ///     A new batch has no later value of an aggregate that one of them has: it could arrive
    ///     first.
    /// - Throws: `otherUser` if the outbox does not belong to the user.
    public func nextBatches(
        _ most: Int = 1, limit: Int, rules: [UploadEndpoint], at now: Instant,
        of user: String? = nil, mostFailures: Int64 = .max, metered: Int64? = nil,
        after taken: [TakenBatch] = [], besides underWay: Set<Int64> = []
    ) throws(HealthStoreError) -> OutboxDraw {
        var refused: RefusalCounts = [:]
        var settlements: [Settlement] = []
        var unsettled = taken
        let owner = try store.uploadOwner()
        while true {
            var (draw, isDone) = try store.change { connection in
                if let user { try store.requireOwner(user, connection) }
                let settled = try unsettled.map { try settle($0, connection, at: now) }
                var underWay = underWay
                var (all, isDone) = try self.draw(
                    limit, rules, mostFailures, metered, owner, underWay, connection, at: now)
                while let last = all.batches.last, all.batches.count < most,
                    rules.first(where: { $0.route == last.route })?.isIdempotent == true
                {
                    underWay.insert(last.id)
                    let (next, _) = try self.draw(
                        limit, rules, mostFailures, metered, owner, underWay, connection, at: now)
                    all.refused.add(next.refused)
                    guard !next.batches.isEmpty else { break }
                    all.batches += next.batches
                }
                all.settlements = settled
                return (all, isDone)
            }
            unsettled = []
            settlements += draw.settlements
            refused.add(draw.refused)
            guard isDone else { continue }
            draw.refused = refused
            draw.settlements = settlements
            return draw
        }
    }

    /// Leaves the batches that were not settled to whoever sends next.
    public func endSending() throws(HealthStoreError) { try store.endSending() }

    /// Takes one batch. It is not done if the samples that it looked at have left the queue.
    private func draw(
        _ limit: Int, _ rules: [UploadEndpoint], _ mostFailures: Int64, _ metered: Int64?,
        _ owner: UploadOwner, _ underWay: Set<Int64>, _ connection: Connection, at now: Instant
    ) throws -> (OutboxDraw, isDone: Bool) {
        var draw = OutboxDraw()
        let left = try sendingBatch(of: owner, besides: underWay, &draw, connection)
        guard let first = rules.first else { return (draw, true) }
        var found: DrawnBatch?
        if let (id, route) = left {
            let own = rules.first { $0.route == route }
            // Checked first, because the samples of a dissolved batch are resent in other batches.
            draw.refused = try hold(id, own ?? first, connection, at: now)
            guard draw.refused.isEmpty else { return (draw, false) }
            guard let own, try stays(id, own, &draw, connection, at: now) else {
                try dissolve(id, "its route takes it no longer as it is", connection, at: now)
                return (draw, false)
            }
            found = DrawnBatch(id: id, rules: own, members: try members(of: id, connection))
        }
        var fewest: [SampleKind: Int64] = [:]
        let chosen =
            try found?.rules
            ?? choose(rules, mostFailures, &fewest, &draw, connection, at: now)
        guard let chosen else { return (draw, true) }
        if found != nil { draw.wait = try requestWait(chosen, at: now, connection) }
        guard draw.wait == nil else { return (draw, true) }
        let budget = try metered.map { try meteredBudget($0, at: now, connection) }
        if let found, let budget {
            // The batch is sent unchanged or not at all, because each send is the same.
            let samples = found.members.map(\.sample)
            draw.meteredWait = budget.wait(for: Int64(UploadEndpoint.mostBytes(of: samples)))
            guard draw.meteredWait == nil else { return (draw, true) }
        }
        guard
            let found = try found
                ?? makeBatch(
                    limit, chosen, fewest, budget, owner.number, besides: !underWay.isEmpty, &draw,
                    connection, at: now),
            var batch = try take(found, owner, connection, at: now)
        else { return (draw, draw.meteredWait != nil || draw.isFollowing) }
        if budget != nil {
            batch.meteredEntry = try countMetered(
                UploadEndpoint.mostBytes(of: batch.samples), at: now, connection)
        }
        try countRequest(found.rules, at: now, connection)
        draw.batches = [batch]
        return (draw, true)
    }

    /// Returns the first batch in `sending` that belongs to the owner, or to no living attempt.
    private func sendingBatch(
        of owner: UploadOwner, besides underWay: Set<Int64>, _ draw: inout OutboxDraw,
        _ connection: Connection
    ) throws -> (Int64, UploadRoute?)? {
        let batches = try connection.all(
            "SELECT id, route, owner FROM batches WHERE state = 'sending' ORDER BY id"
        ) {
            (
                id: $0.integer(0), route: UploadRoute(rawValue: $0.text(1)),
                owner: $0.optionalInteger(2)
            )
        }
        var living: Set<Int64> = []
        for batch in batches where !underWay.contains(batch.id) {
            guard let other = batch.owner, other != owner.number,
                try living.contains(other) || store.isSent(by: other, connection)
            else { return (batch.id, batch.route) }
            living.insert(other)
            draw.sentElsewhere +=
                try connection.integer(
                    "SELECT count(*) FROM outbox WHERE batch_id = ?", .integer(batch.id)) ?? 0
        }
        return nil
    }

    /// Returns the rules of the first route that has requests left in its hour and queued samples.
    /// Each kind uses the first route that accepts it.
    ///
    /// - Parameter fewest: receives the fewest failures of the queued samples of each kind of the
    ///   route.
    private func choose(
        _ rules: [UploadEndpoint], _ mostFailures: Int64, _ fewest: inout [SampleKind: Int64],
        _ draw: inout OutboxDraw, _ connection: Connection, at now: Instant
    ) throws -> UploadEndpoint? {
        var assigned: Set<SampleKind> = []
        var waits: [Duration] = []
        for rules in rules where rules.takesNew {
            let kinds = Set(rules.types.keys).subtracting(assigned)
            assigned.formUnion(kinds)
            fewest = try fewestFailures(of: kinds, mostFailures, connection)
            guard !fewest.isEmpty else { continue }
            guard let wait = try requestWait(rules, at: now, connection) else { return rules }
            waits.append(wait)
        }
        draw.wait = waits.min()
        return nil
    }

    /// Returns the fewest failures of the queued samples of each kind.
    private func fewestFailures(
        of kinds: Set<SampleKind>, _ most: Int64, _ connection: Connection
    ) throws -> [SampleKind: Int64] {
        var fewest: [SampleKind: Int64] = [:]
        var last = ""
        // From one kind to the next in the index, which may have a million samples of each.
        while let (name, failures) = try connection.first(
            """
            SELECT kind, failures FROM outbox WHERE \(Outbox.isAlone(.queued)) AND kind > ?
            ORDER BY kind, failures LIMIT 1
            """, .text(last), map: { ($0.text(0), $0.integer(1)) })
        {
            last = name
            guard failures <= most, let kind = SampleKind(rawValue: name), kinds.contains(kind)
            else { continue }
            fewest[kind] = failures
        }
        return fewest
    }

    /// Makes a batch of queued samples; `nil` if all samples that it looked at are kept back, or if
    /// the budget has too little room.
    private func makeBatch(
        _ limit: Int, _ rules: UploadEndpoint, _ fewest: [SampleKind: Int64],
        _ budget: MeteredBudget?, _ owner: Int64, besides isOneOfSeveral: Bool,
        _ draw: inout OutboxDraw, _ connection: Connection, at now: Instant
    ) throws -> DrawnBatch? {
        guard let failures = fewest.values.min() else { return nil }
        let limit = max(1, limit >> (2 * failures))
        let kinds = fewest.filter { $0.value == failures }.keys
        let ofKind = min(limit, rules.perType ?? limit)
        // One place of four goes to the oldest.
        let (newest, oldest) = (limit - limit / 4 + 1, limit / 4 + 1)
        var order = SendingOrder(
            newest: try queued(kinds, failures, "DESC", min(ofKind, newest), connection),
            oldest: try queued(kinds, failures, "ASC", min(ofKind, oldest), connection))
        let last = try connection.integer("SELECT max(id) FROM batches") ?? 0
        let wanted = order.fill(limit, batch: last + 1, types: rules.types, perType: rules.perType)
        let chosen = rules.choose(wanted.map(\.kind), limit: limit).map { wanted[$0].row }
        let found = try members("id IN (SELECT value FROM json_each(?))", .list(chosen), connection)
        let byRow = Dictionary(found.map { ($0.row, $0) }, uniquingKeysWith: { first, _ in first })
        let fit = try chosen.compactMap { row -> BatchMember? in
            guard let member = byRow[row] else { return nil }
            if isOneOfSeveral, member.isAggregate, try isFollowing(member.sample, connection) {
                draw.isFollowing = true
                return nil
            }
            guard let refusal = rules.refusal(of: member.sample, at: now) else { return member }
            try keepBack(row, refusal, connection)
            draw.refused.count(member.sample.kind, refusal)
            return nil
        }
        let samples = fit.map(\.sample)
        if let budget, let first = samples.first {
            let whole = Array(samples.prefix(rules.prefix(of: samples)))
            draw.meteredWait = budget.wait(
                for: budget.wanted(
                    first: Int64(UploadEndpoint.mostBytes(of: [first])),
                    whole: Int64(UploadEndpoint.mostBytes(of: whole))))
            guard draw.meteredWait == nil else { return nil }
        }
        let count = rules.prefix(of: samples, within: budget?.room ?? .max)
        let members = fit.prefix(count).sorted { $0.row < $1.row }
        guard !members.isEmpty else { return nil }
        let id = try makeBatch(of: members.map(\.row), rules.route, owner, connection, at: now)
        return DrawnBatch(id: id, rules: rules, members: members)
    }

    /// Returns the queued samples of each kind that have failed this often, from the newest or the
    /// oldest on.
    private func queued(
        _ kinds: some Sequence<SampleKind>, _ failures: Int64, _ direction: String, _ limit: Int,
        _ connection: Connection
    ) throws -> [SampleKind: [SendingOrder.Candidate]] {
        var found: [SampleKind: [SendingOrder.Candidate]] = [:]
        for kind in kinds {
            found[kind] = try connection.all(
                """
                SELECT id, start_s FROM outbox
                WHERE \(Outbox.isAlone(.queued)) AND kind = ? AND failures = ?
                ORDER BY start_s \(direction), id \(direction) LIMIT ?
                """, .text(kind.rawValue), .integer(failures), .integer(Int64(limit))
            ) { SendingOrder.Candidate(row: $0.integer(0), kind: kind, start: $0.integer(1)) }
        }
        return found
    }

    /// Whether another value of the same aggregate is being sent.
    private func isFollowing(_ sample: Sample, _ connection: Connection) throws -> Bool {
        let time = AggregateTime(
            kind: sample.kind, start: sample.start.secondsSince1970,
            end: sample.end.secondsSince1970)
        return try connection.all(
            """
            SELECT start_s, end_s FROM samples
            WHERE kind = ? AND start_s BETWEEN ? AND ? AND state = 'sending' AND as_of_s IS NOT NULL
            """, .text(time.kind.rawValue), .integer(time.starts.lowerBound),
            .integer(time.starts.upperBound)
        ) { time.matches(start: $0.integer(0), end: $0.integer(1)) }.contains(true)
    }

    /// Puts rows of the outbox into a new batch, which is sent next.
    func makeBatch(
        of rows: [Int64], _ route: UploadRoute, _ owner: Int64, _ connection: Connection,
        at now: Instant
    ) throws -> Int64 {
        let id = try connection.insert(
            "INSERT INTO batches (client_timestamp_ms, route, owner) VALUES (?, ?, ?) RETURNING id",
            .instant(now), .text(route.rawValue), .integer(owner))
        try connection.run(
            """
            UPDATE outbox SET state = 'batched', batch_id = ?
            WHERE id IN (SELECT value FROM json_each(?)) AND (state = 'queued' OR state = 'batched')
            """, .integer(id), .list(rows))
        return id
    }

    /// Counts the send of a batch that follows. If none of its samples could be decrypted, it ends
    /// the batch and returns `nil`.
    private func take(
        _ drawn: DrawnBatch, _ owner: UploadOwner, _ connection: Connection, at now: Instant
    ) throws -> OutboxBatch? {
        let (id, rules, members) = (drawn.id, drawn.rules, drawn.members)
        guard !members.isEmpty else {
            try finishBatch(
                id, as: "failed", reason: "none of its values opens", at: now, connection)
            return nil
        }
        try connection.run(
            """
            UPDATE batches SET attempts = attempts + 1, sends = sends + ?, owner = ? WHERE id = ?
            """, .integer(rules.isIdempotent ? 0 : 1), .integer(owner.number), .integer(id))
        let found = try connection.first(
            "SELECT client_timestamp_ms, attempts, sends FROM batches WHERE id = ?", .integer(id)
        ) {
            ($0.instant(0), Int($0.integer(1)), Int($0.integer(2)))
        }
        let (timestamp, attempts, sends) = found ?? (now, 1, 1)
        return OutboxBatch(
            id: id, clientTimestamp: timestamp, route: rules.route, attempts: attempts,
            possibleSends: max(0, sends - (rules.isIdempotent ? 0 : 1)),
            samples: members.map(\.sample), rows: members.map(\.row), owner: owner.number,
            hasFailedProcessing: members.contains(where: \.hasFailedProcessing),
            isInDoubt: members.contains(where: \.isInDoubt))
    }

    /// Returns the samples of a batch that is being sent, in their order, and sets damaged ones
    /// aside.
    func members(of id: Int64, _ connection: Connection) throws -> [BatchMember] {
        try members("batch_id = ? AND state = 'batched'", .integer(id), connection)
    }

    /// Decrypts the samples that a condition selects, in the order of their rows, and sets damaged
    /// ones aside.
    private func members(
        _ condition: String, _ value: Value, _ connection: Connection
    ) throws -> [BatchMember] {
        var members: [BatchMember] = []
        var damaged: [Int64] = []
        var opening = SampleOpening(cipher)
        try connection.forEach(
            """
            SELECT \(SampleRow.Column.list), as_of_s IS NOT NULL, processing_failed, doubts > 0
            FROM outbox WHERE \(condition) ORDER BY id
            """, [value]
        ) { found in
            let row = found.integer(SampleRow.Column.id)
            if let sample = opening.opened(found) {
                members.append(
                    BatchMember(
                        row: row, sample: sample, isAggregate: found.integer(6) == 1,
                        hasFailedProcessing: found.integer(7) == 1,
                        isInDoubt: found.integer(8) == 1))
            } else {
                damaged.append(row)
            }
        }
        for row in damaged { try setAsideDamaged(row, connection) }
        return members
    }

    private func setAsideDamaged(_ row: Int64, _ connection: Connection) throws {
        try connection.run(
            "UPDATE outbox SET state = 'setAside', batch_id = NULL, reason = ? WHERE id = ?",
            "its encrypted value is damaged", .integer(row))
    }
}

extension Value {
    /// Numbers, such as the ids of rows, as `json_each` takes them.
    static func list(_ numbers: [Int64]) -> Value {
        .text("[" + numbers.map(String.init).joined(separator: ",") + "]")
    }
}

/// A batch that is to be sent, before the send is counted.
private struct DrawnBatch {
    let id: Int64
    let rules: UploadEndpoint
    /// In the order of their rows.
    let members: [BatchMember]
}

/// A sample of a batch with its row.
struct BatchMember {
    let row: Int64
    let sample: Sample
    let isAggregate: Bool
    /// Whether the backend said last that it could not process it.
    let hasFailedProcessing: Bool
    /// Whether a send of another batch may have arrived.
    let isInDoubt: Bool
}

extension RefusalCounts {
    mutating func add(_ more: RefusalCounts) {
        merge(more) { $0.merging($1, uniquingKeysWith: +) }
    }

    mutating func count(_ kind: SampleKind, _ refusal: UploadRefusal) {
        self[refusal, default: [:]][kind, default: 0] += 1
    }
}
