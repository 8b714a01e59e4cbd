package import HealthModel
package import ClarityScheduler
import Database

// The values of days, nights and other aggregates. The latest value of each counts.

extension Outbox {
    /// Puts an aggregate into the outbox, where it may replace former values of the same time.
    ///
    /// - Returns: how many rows of former values were removed.
    func write(
        _ aggregate: OutboxPortion.Aggregate, _ bytes: [UInt8], _ packed: PackedLookup,
        _ restored: RestoredDuplicates, _ known: inout FormerValues,
        _ counts: inout EnqueueCounts, _ connection: Connection
    ) throws -> Int64 {
        let (row, time) = (aggregate.row, aggregate.time)
        func matching(_ rows: [FormerValues.Row]) -> [AggregateDecision.Former] {
            self.formers(
                among: rows, at: time, blindIndex: row.indexBytes, source: aggregate.source,
                isOfAllSources: aggregate.isOfAllSources)
        }
        var formers = matching(known.rows(at: time))
        if known.haveChanged(formers, at: time, isOfAllSources: aggregate.isOfAllSources) {
            formers = matching(try FormerValues.rows(at: time, connection))
        }
        if !formers.contains(where: \.isSame), try packed.has(row) {
            // Comes after all rows, and is never changed.
            formers.append(
                AggregateDecision.Former(
                    id: .max, isSame: true, state: .confirmed, possibleSends: 0, asOf: nil))
        }
        let decision = AggregateDecision(formers, asOf: aggregate.asOf)
        known.note(decision, at: time)
        for id in decision.removed { try remove(id, connection) }
        for id in decision.inDoubt { try keepBack(id, .followed, connection) }
        if let id = decision.moved {
            // The row of a measurement has no `as_of_s` and stays without one.
            try connection.run(
                "UPDATE outbox SET as_of_s = ? WHERE id = ? AND as_of_s < ?",
                .integer(aggregate.asOf), .integer(id), .integer(aggregate.asOf))
        }
        let encrypted = Value.blob(Array(bytes[row.encrypted]))
        if let id = decision.target {
            try connection.run(
                """
                UPDATE outbox SET start_s = ?, end_s = ?, tag = ?, sealed = ?, as_of_s = ?,
                    state = 'queued', failures = 0, hold = NULL, reason = NULL,
                    processing_failed = 0
                WHERE id = ?
                """, .integer(row.start), .integer(row.end), .blob(row.indexBytes), encrypted,
                .integer(aggregate.asOf), .integer(id))
            // These words were about the former value.
            try connection.run("DELETE FROM server_words WHERE id = ?", .integer(id))
        } else if decision.needsRow {
            let last = try restored.isHeld ? lastRow(connection) : 0
            try connection.run(
                """
                INSERT INTO outbox (kind, start_s, end_s, tag, sealed, as_of_s, doubts)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """, .text(row.kind.rawValue), .integer(row.start), .integer(row.end),
                .blob(row.indexBytes), encrypted, .integer(aggregate.asOf),
                .integer(row.end < restored.until ? 1 : 0))
            try countInserted([row], 1, after: 0, connection)
            if restored.isHeld { try holdInDoubt(after: last, connection) }
        }
        switch decision.outcome {
        case .queued: counts.metricsQueued += 1
        case .known: counts.metricsKnown += 1
        case .replaced: counts.replaced += 1
        case .corrected: counts.corrected += 1
        case .keptAsSent: counts.keptAsSent += 1
        }
        return Int64(decision.removed.count)
    }

    /// Takes aggregates that have a later value out of a batch that goes back into the queue.
    /// Otherwise they would be sent after the later value.
    ///
    /// They are removed, or set aside for a person if a send of them may have arrived.
    ///
    /// - Returns: how many samples were removed, and how many were set aside.
    func retireFollowed(
        in batch: Int64, _ connection: Connection
    ) throws -> (removed: Int64, setAside: Int64) {
        let members = try connection.all(
            """
            SELECT \(SampleRow.Column.list) FROM outbox
            WHERE batch_id = ? AND state = 'batched' AND as_of_s IS NOT NULL ORDER BY id
            """, .integer(batch)
        ) {
            (
                row: SampleRow($0), blindIndex: $0.blob(SampleRow.Column.blindIndex)
            )
        }
        var retired: (removed: Int64, setAside: Int64) = (0, 0)
        for (member, blindIndex) in members {
            guard let kind = SampleKind(rawValue: member.kind) else { continue }
            let sample = member.opened(cipher)
            let time = AggregateTime(kind: kind, start: member.start, end: member.end)
            let formers = formers(
                among: try FormerValues.rows(at: time, connection), at: time,
                blindIndex: blindIndex, source: sample?.source,
                isOfAllSources: sample?.isOfAllSources ?? false)
            guard let own = formers.first(where: { $0.id == member.id }),
                formers.contains(where: { $0.isLater(than: own) })
            else { continue }
            if own.possibleSends == 0 {
                try remove(member.id, connection)
                retired.removed += 1
            } else {
                try keepBack(member.id, .followed, connection)
                retired.setAside += 1
            }
        }
        try countRemoved(retired.removed, connection)
        return retired
    }

    /// Returns the row with exactly this start, end and blind index, whatever it is, and the
    /// aggregates that match the time, of the rows that may.
    ///
    /// - Parameters:
    ///   - source: the source of the value. Aggregates of other sources do not match, except days
    ///     and nights. A pruned value has no known source and matches.
    ///   - isOfAllSources: whether aggregates of other sources match too, and with an instant also
    ///     a whole day that begins then: it was the first hour of that day.
    private func formers(
        among rows: [FormerValues.Row], at time: AggregateTime, blindIndex: [UInt8],
        source: String?, isOfAllSources: Bool
    ) -> [AggregateDecision.Former] {
        rows.compactMap { found in
            let isSame =
                found.start == time.start && found.end == time.end
                && found.blindIndex == blindIndex
            if !isSame {
                let isTime = time.matches(start: found.start, end: found.end)
                guard found.asOf != nil,
                    isTime || isOfAllSources && time.begins(found.start, found.end)
                else { return nil }
                if !time.isWhole, let encrypted = found.encrypted {
                    let sample = SampleRow(
                        id: found.id, kind: time.kind.rawValue, start: found.start, end: found.end,
                        blindIndex: found.blindIndex, encrypted: encrypted
                    ).opened(cipher)
                    let isOther =
                        isOfAllSources
                        ? !isTime && sample?.isOfAllSources == false : sample?.source != source
                    if sample != nil, isOther { return nil }
                }
            }
            return AggregateDecision.Former(
                id: found.id, isSame: isSame,
                isShifted: time.isShifted(start: found.start, end: found.end), state: found.state,
                possibleSends: found.possibleSends, asOf: found.asOf)
        }
    }

    /// Returns whether there are aggregates without a length in a span of time, such as averages of
    /// the hours of a day.
    package func hasInstants(
        of kind: SampleKind, in span: Range<Instant>
    ) throws(HealthStoreError) -> Bool {
        try store.integer(
            """
            SELECT 1 FROM outbox WHERE kind = ? AND start_s >= ? AND start_s < ?
                AND end_s = start_s AND as_of_s IS NOT NULL LIMIT 1
            """, .text(kind.rawValue), .integer(span.lowerBound.secondsSince1970),
            .integer(span.upperBound.secondsSince1970)) != nil
    }

    private func remove(_ id: Int64, _ connection: Connection) throws {
        try connection.run("DELETE FROM outbox WHERE id = ?", .integer(id))
    }
}

extension OutboxPortion.Row {
    var indexBytes: [UInt8] { withUnsafeBytes(of: blindIndex) { Array($0) } }
}

/// Decides what happens to a new value of a day, a night or another aggregate, given the rows that
/// the outbox has for the same time (`AggregateTime`).
///
/// | existing row | new value is the same | new value differs |
/// |---|---|---|
/// | none | | queued |
/// | one that is true as of a later instant | known | known |
/// | one that the backend does not have: queued, rejected, set aside | known | replaced in place |
/// | one that is being sent or was sent | known | corrected: gets a row of its own |
/// | one that is in doubt and queued again | known | set aside, and corrected |
/// | the day of another time zone, sent or in doubt | kept as sent | kept as sent |
///
/// The id of a value is derived from the value (`MetricID`). The backend refuses an id that it has
/// and never removes a value, so it keeps a correction beside the former value. Rows of former
/// values that the backend does not have are removed, so that none of them is sent after a later
/// value. If a source returns to a value that was sent and then corrected, that value counts as
/// known.
struct AggregateDecision: Hashable {
    /// A row of the outbox.
    struct Former: Hashable {
        var id: Int64
        /// Whether it has the new value, with the same start and end.
        var isSame: Bool
        /// Whether it is the same day in another time zone.
        var isShifted = false
        var state: OutboxState
        /// The number of sends of it that got no answer and may have arrived.
        var possibleSends: Int64
        /// The instant as of which it is true, in seconds since 1970; `nil` for a measurement,
        /// which is only here if `isSame`.
        var asOf: Int64?

        /// Whether the backend does not have the value, and must not get it after a later one.
        fileprivate var isOutdated: Bool {
            [.queued, .rejected, .setAside].contains(state) && possibleSends == 0
        }
        /// Whether it is in doubt and would be resent, although the later value has its own
        /// row.
        fileprivate var isInDoubt: Bool { state == .queued && possibleSends > 0 }

        /// Whether this value supersedes the other's: it is true as of a later instant, or of the
        /// same instant and has the larger id.
        func isLater(than other: Former) -> Bool {
            guard let asOf, let otherAsOf = other.asOf else { return false }
            return (asOf, id) > (otherAsOf, other.id)
        }
    }

    enum Outcome: Hashable {
        /// The outbox had no row for this time.
        case queued
        /// The outbox has the value, or one that is true as of a later instant.
        case known
        /// The value takes the place of one that was not sent.
        case replaced
        /// The value follows one that was sent, or in doubt.
        case corrected
        /// The day was sent in another time zone and stays as it is: otherwise the backend would
        /// have both.
        case keptAsSent
    }

    var outcome: Outcome
    /// The existing row that takes the value; `nil` if the value gets a new row or needs none.
    var target: Int64?
    /// The row that already has the value and is now true as of a later instant.
    var moved: Int64?
    /// The rows of former values to remove.
    var removed: [Int64] = []
    /// The rows in doubt of former values to set aside for a person.
    var inDoubt: [Int64] = []
    /// Whether the value gets a new row.
    var needsRow = false

    /// - Parameter asOf: the instant as of which the new value is true, in seconds since 1970.
    init(_ formers: [Former], asOf: Int64) {
        if formers.contains(where: { $0.asOf ?? .min > asOf }) {
            outcome = .known
            return
        }
        let sent = formers.filter { !$0.isOutdated }
        if sent.contains(where: \.isShifted), sent.allSatisfy(\.isShifted) {
            outcome = .keptAsSent
            return
        }
        let same = formers.first(where: \.isSame)
        let others = formers.filter { !$0.isSame }
        var outdated = others.filter(\.isOutdated).map(\.id)
        inDoubt = others.filter(\.isInDoubt).map(\.id)
        moved = same?.id
        if same != nil {
            outcome = outdated.isEmpty ? .known : .replaced
        } else if let first = outdated.first {
            (outcome, target) = (.replaced, first)
            outdated.removeFirst()
        } else {
            outcome = others.isEmpty ? .queued : .corrected
        }
        removed = outdated
        needsRow = same == nil && target == nil
    }
}

/// The kind and the time of an aggregate, used to find other rows of the same aggregate.
///
/// Two nights match if they share more than half of the shorter one, because a late record moves
/// the bounds of a night. Two days match if they share at least half of the shorter one, because
/// another time zone moves the bounds of a day. Aggregates of any other kind match if start and end
/// are equal.
struct AggregateTime: Hashable {
    /// The most that the starts of two matching days or nights can be apart, in seconds.
    static let reach: Int64 = 48 * 3600

    /// The possible lengths of a day in a time zone, in seconds.
    static let dayLengths: ClosedRange<Int64> = 23 * 3600...25 * 3600
    /// Clocks change by multiples of half an hour, here in seconds.
    private static let clockStep: Int64 = 1800

    let kind: SampleKind
    let start: Int64
    let end: Int64

    /// Whether it is a day or a night. Its source may change from one reading to the next.
    var isWhole: Bool { kind == .sleep || kind == .activity }

    /// The range in which other rows of the same aggregate can start.
    var starts: ClosedRange<Int64> {
        guard isWhole else { return start...start }
        let length = min(max(0, end - start), AggregateTime.reach)
        return start - AggregateTime.reach...start + length
    }

    /// Whether an aggregate of the same kind, with these bounds, is the same aggregate.
    func matches(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        if start == otherStart, end == otherEnd { return true }
        guard isWhole, starts.contains(otherStart) else { return false }
        let common = min(end, otherEnd) - max(start, otherStart)
        let shorter = min(end - start, otherEnd - otherStart)
        return 2 * common > shorter || kind == .activity && common > 0 && 2 * common == shorter
    }

    /// Whether a matching activity is the day of another time zone. An activity that is not a whole
    /// day, such as the day so far, is not.
    func isShifted(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        kind == .activity && (start, end) != (otherStart, otherEnd)
            && AggregateTime.isDay(end - start) && AggregateTime.isDay(otherEnd - otherStart)
    }

    /// Whether this is an instant at which a day begins, given the bounds of another aggregate.
    func begins(_ otherStart: Int64, _ otherEnd: Int64) -> Bool {
        start == otherStart && start == end && AggregateTime.isDay(otherEnd - otherStart)
    }

    private static func isDay(_ length: Int64) -> Bool {
        dayLengths.contains(length) && length % clockStep == 0
    }
}
