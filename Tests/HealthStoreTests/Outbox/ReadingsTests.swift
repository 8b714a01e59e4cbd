import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct ReadingsTests {
    private let folder = StateFolder()

    private func day(_ index: Int, _ steps: Double) -> (sample: Sample, asOf: Instant) {
        let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 86_400)
        return (
            Sample(
                kind: .steps, start: start, end: start + .seconds(86_400), value: .single(steps)),
            start + .seconds(86_400)
        )
    }

    /// Returns the counts of a reading that read, did not map and made this many records.
    private func counts(read: Int64, unmapped: Int64 = 0, made: Int64 = 0) -> ReadingCounts {
        var counts = ReadingCounts()
        counts[.read] = read
        counts[.unmapped] = unmapped
        counts[.made] = made
        return counts
    }

    private func reasons(unmapped: [String: Int64]) -> ReadingReasons {
        var reasons = ReadingReasons()
        reasons.unmapped = unmapped
        return reasons
    }

    @Test func `a reading's sums hold after every portion and at its end`() throws {
        let store = try folder.open()

        let reading = try store.outbox.beginReading(of: "/export.zip")
        let begun = try store.outbox.arithmetic()
        _ = try store.outbox.commit(try store.outbox.prepare(heartRates(0..<10)), of: reading)
        _ = try store.outbox.commit(
            try store.outbox.prepare(heartRates(5..<12), aggregates: [day(0, 4000)]), of: reading)
        let between = try store.outbox.arithmetic()
        var end = counts(read: 20, unmapped: 2, made: 1)
        end[.aggregated] = 1
        try store.outbox.end(reading, end, reasons(unmapped: ["BodyMass": 2]))
        let ended = try store.outbox.arithmetic()

        #expect(begun.isBalanced && begun.open == 1 && begun.counts[.read] == 0)
        #expect(between.isBalanced && between.counts[.read] == 17)
        #expect(between.counts[.queued] == 12 && between.counts[.known] == 5)
        #expect(between.counts[.madeQueued] == 1)
        #expect(ended.isBalanced && ended.open == 0 && ended.readings == 1)
        #expect(ended.counts[.read] == 20 && ended.counts.rows == 13)
        #expect(ended.reasons.unmapped == ["BodyMass": 2])
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `a reading that was killed is closed by the next, and what it brought counts`()
        throws
    {
        let killed = try folder.open()
        let reading = try killed.outbox.beginReading(of: "/export.zip")
        _ = try killed.outbox.commit(try killed.outbox.prepare(heartRates(0..<10)), of: reading)

        let store = try folder.open()
        let next = try store.outbox.beginReading(of: "/export.zip")
        _ = try store.outbox.commit(try store.outbox.prepare(heartRates(0..<14)), of: next)
        try store.outbox.end(next, counts(read: 14), ReadingReasons())
        let sums = try store.outbox.arithmetic()

        #expect(sums.isBalanced && sums.readings == 2 && sums.interrupted == 1 && sums.open == 0)
        #expect(sums.counts[.read] == 14 && sums.counts[.queued] == 14)
        #expect(sums.counts[.known] == 0)
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `a reading that goes on after it was closed by another ends as any other`() throws {
        let store = try folder.open()
        let first = try store.outbox.beginReading(of: "/export.zip")
        let second = try store.outbox.beginReading(of: "/export.zip")
        let other = try store.outbox.beginReading(of: "/other.zip")

        _ = try store.outbox.commit(try store.outbox.prepare(heartRates(0..<3)), of: first)
        try store.outbox.end(first, counts(read: 3), ReadingReasons())
        try store.outbox.interrupt(second)
        let sums = try store.outbox.arithmetic()

        #expect(sums.isBalanced && sums.interrupted == 1 && sums.open == 1)
        try store.outbox.end(other, counts(read: 0), ReadingReasons())
        #expect(try store.outbox.arithmetic().open == 0)
    }

    @Test func `later values of a day are counted as replaced, corrected and removed`() throws {
        let store = try folder.open()
        func read(_ steps: Double) throws {
            let reading = try store.outbox.beginReading(of: "/export.zip")
            let portion = try store.outbox.prepare([], aggregates: [day(0, steps)])
            _ = try store.outbox.commit(portion, of: reading)
            var end = counts(read: 1, made: 1)
            end[.aggregated] = 1
            try store.outbox.end(reading, end, ReadingReasons())
        }
        try read(4000)
        try read(4100)
        let batch = try #require(try store.outbox.nextBatch(limit: 1, at: noon))
        try read(4200)
        // The batch's former value is not sent any more.
        _ = try store.outbox.release(batch, reason: "the backend broke", at: noon)
        try read(4200)

        let sums = try store.outbox.arithmetic()

        #expect(sums.isBalanced)
        #expect(sums.counts[.made] == 3 && sums.counts[.madeQueued] == 1)
        #expect(sums.counts[.madeReplaced] == 1 && sums.counts[.madeCorrected] == 1)
        #expect(sums.counts[.madeKnown] == 0 && sums.counts[.rowsRemoved] == 1)
        #expect(sums.counts.rows == 1 && sums.account.total == 1)
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `what no reading brings is counted all the same`() throws {
        let store = try folder.open()

        _ = try store.outbox.enqueue(heartRates(0..<5))
        let before = try store.outbox.arithmetic()
        try store.sessions.save(
            Session(
                userID: "ada", email: "ada@example.com", accessToken: Secret("a"),
                refreshToken: Secret("r"), expiresAt: noon))
        _ = try store.wipe()
        let wiped = try folder.open()
        try wiped.sessions.save(
            Session(
                userID: "eve", email: "eve@example.com", accessToken: Secret("a"),
                refreshToken: Secret("r"), expiresAt: noon))
        let nothing = try wiped.outbox.arithmetic()
        _ = try wiped.outbox.enqueue(heartRates(0..<2))

        #expect(before.isBalanced && before.counts[.queued] == 5 && before.readings == 0)
        #expect(nothing.isBalanced && nothing.counts == ReadingCounts())
        #expect(try wiped.outbox.arithmetic().counts[.queued] == 2)
        #expect(try wiped.outbox.prove().findings == [])
    }

    @Test(.onFilesAlone)
    func `the rows of a file from before there was a ledger are its first entry`() throws {
        let connection = try folder.makeFirstRelease()
        try connection.execute(
            """
            INSERT INTO readings (state, begun_at_ms, finished_at_ms, readings, rows_before)
                VALUES ('sum', 0, 0, 0, 2);
            INSERT INTO outbox (kind, start_s, end_s, tag, state, failures, sealed) VALUES
                ('steps', 4, 4, x'0000000000000004', 'queued', 2, x'00'),
                ('steps', 5, 5, x'0000000000000005', 'queued', 0, x'00');
            """)

        let store = try folder.open(firstKey)
        let old = try store.outbox.arithmetic()
        _ = try store.outbox.enqueue(heartRates(0..<1))

        #expect(old.isBalanced && old.counts[.rowsBefore] == 2 && old.account.total == 2)
        #expect(try store.outbox.arithmetic().counts.rows == 3)
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `old readings are put together, and nothing of their sums is lost`() throws {
        let store = try folder.open()
        for index in 0..<100 {
            let reading = try store.outbox.beginReading(of: "/folder/\(index % 3)")
            _ = try store.outbox.commit(
                try store.outbox.prepare(heartRates(index..<index + 1)), of: reading)
            try store.outbox.end(
                reading, counts(read: 2, unmapped: 1),
                reasons(unmapped: ["Type\(index % 5)": 1]))
        }

        let sums = try store.outbox.arithmetic()
        let rows = try store.access {
            try $0.all("SELECT count(*) FROM readings") { $0.integer(0) }
        }

        // Each source has its hundred samples together, and one record without a field.
        #expect(sums.isBalanced && sums.readings == 100 && sums.counts[.queued] == 100)
        #expect(sums.counts[.read] == 103 && sums.counts[.unmapped] == 3)
        #expect(sums.reasons.unmapped.values.reduce(0, +) == 3)
        #expect(rows == [65 + 3])
        #expect(try store.outbox.prove().findings == [])
    }

    @Test(arguments: [false, true])
    func `a reading that was summed up while it ran still ends with all its counts`(
        hasSum: Bool
    ) throws {
        let store = try folder.open()
        func read(_ times: Int) throws {
            for _ in 0..<times {
                try store.outbox.end(
                    try store.outbox.beginReading(of: "/export.zip"), counts(read: 1, unmapped: 1),
                    reasons(unmapped: ["Type": 1]))
            }
        }
        if hasSum { try read(70) }
        let long = try store.outbox.beginReading(of: "/export.zip")
        _ = try store.outbox.commit(try store.outbox.prepare(heartRates(0..<3)), of: long)
        try read(70)
        _ = try store.outbox.commit(try store.outbox.prepare(heartRates(3..<5)), of: long)

        try store.outbox.end(long, counts(read: 7, unmapped: 2), reasons(unmapped: ["Other": 2]))

        let sums = try store.outbox.arithmetic()
        let others: Int64 = hasSum ? 140 : 70
        #expect(sums.isBalanced && sums.readings == others + 1 && sums.open == 0)
        #expect(sums.counts[.read] == (hasSum ? 8 : 7) && sums.counts[.queued] == 5)
        #expect(sums.reasons.unmapped == (hasSum ? ["Type": 1, "Other": 2] : ["Other": 2]))
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `a source that is read again counts once, and others besides`() throws {
        let store = try folder.open()
        func read(_ source: String, _ samples: Range<Int>, unmapped: Int64) throws {
            let reading = try store.outbox.beginReading(of: source)
            _ = try store.outbox.commit(try store.outbox.prepare(heartRates(samples)), of: reading)
            let read = Int64(samples.count) + unmapped
            try store.outbox.end(
                reading, counts(read: read, unmapped: unmapped),
                reasons(unmapped: ["Type": unmapped])
            )
        }

        try read("a", 0..<10, unmapped: 5)
        try read("a", 0..<10, unmapped: 5)
        try read("a", 0..<12, unmapped: 6)
        // An older copy, and another source with some of the same samples.
        try read("a", 0..<4, unmapped: 2)
        try read("b", 8..<15, unmapped: 1)
        let sums = try store.outbox.arithmetic()

        #expect(sums.isBalanced && sums.readings == 5)
        #expect(sums.counts[.read] == 26 && sums.counts[.queued] == 15)
        #expect(sums.counts[.known] == 4 && sums.reasons.unmapped == ["Type": 7])
    }

    @Test func `many sources leave a bounded ledger`() throws {
        let store = try folder.open()
        for index in 0..<400 {
            let reading = try store.outbox.beginReading(of: "/source/\(index)")
            try store.outbox.end(
                reading, counts(read: 1, unmapped: 1), reasons(unmapped: ["Type": 1]))
        }

        let sums = try store.outbox.arithmetic()
        let rows = try store.access {
            try $0.all("SELECT count(*) FROM readings") { $0.integer(0) }
        }

        #expect(sums.isBalanced && sums.readings == 400 && sums.reasons.unmapped == ["Type": 400])
        #expect(rows == [65 + 256 + 1])
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `more names than the ledger holds count together`() {
        var reasons = ReadingReasons()
        for index in 0..<1100 { reasons += self.reasons(unmapped: ["Type\(index)": 1]) }

        #expect(reasons.unmapped.count == 1025)
        #expect(reasons.unmapped["(others)"] == 76)
        #expect(ReadingReasons(encryptedForm: reasons.encryptedForm) == reasons)
        #expect(ReadingReasons(encryptedForm: [2]) == nil)
    }
}
