import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct SendingOrderTests {
    private static let types = Dictionary(
        uniqueKeysWithValues: SampleKind.allCases.map { ($0, $0.rawValue) })

    /// Returns the starts of the samples that fill a batch.
    private func fill(
        _ starts: [SampleKind: [Int64]], _ limit: Int, batch: Int64 = 0, perType: Int? = nil,
        types: [SampleKind: String] = types
    ) -> [Int64] {
        var row: Int64 = 0
        var newest: [SampleKind: [SendingOrder.Candidate]] = [:]
        for kind in starts.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            newest[kind] = (starts[kind] ?? []).sorted(by: >).map { start in
                row += 1
                return SendingOrder.Candidate(row: row, kind: kind, start: start)
            }
        }
        var order = SendingOrder(newest: newest, oldest: newest.mapValues { $0.reversed() })
        return order.fill(limit, batch: batch, types: types, perType: perType).map(\.start)
    }

    @Test func `three quarters are the newest and one quarter the oldest`() {
        let starts = Array(Int64(1)...20)

        #expect(fill([.heartRate: starts], 8) == [20, 19, 18, 1, 17, 16, 15, 2])
        #expect(fill([.heartRate: [1, 2, 3]], 8) == [3, 2, 1])
        #expect(fill([:], 8) == [])
    }

    @Test func `batches of one sample share as larger ones do`() {
        let one: [[Int64]] = (0..<4).map { fill([.heartRate: [1, 2, 3]], 1, batch: $0) }

        #expect(one == [[3], [3], [3], [1]])
    }

    @Test func `each kind has its turn, however old its samples are`() {
        let starts: [SampleKind: [Int64]] = [
            .heartRate: Array(1000...1100), .steps: [500, 501], .vo2Max: [400],
        ]

        let chosen = fill(starts, 16)

        #expect(chosen.contains(501) && chosen.contains(400))
        // All samples of the two other kinds are chosen, so the rest is of the first kind.
        #expect(chosen.filter { $0 >= 1000 }.count == 13)
    }

    @Test func `no type has more places than a request may have`() {
        let starts: [SampleKind: [Int64]] = [.heartRate: [1, 2, 3, 4], .steps: [9, 8]]

        #expect(fill(starts, 6, perType: 1) == [9, 4])
        #expect(fill(starts, 6, types: [.steps: "a"]) == [9, 8])
    }

    @Test(.onFilesAlone, arguments: [1, 2, 3, 5, 8, 100])
    func `whatever comes in, the oldest is sent within four batches`(limit: Int) throws {
        var draw = SeededGenerator(seed: UInt64(limit))
        let store = try StateFolder().open()
        let kinds: [SampleKind] = [.heartRate, .heartRate, .heartRate, .steps, .vo2Max]
        _ = try store.outbox.enqueue((0..<50).map { sample(.vo2Max, $0) })
        var oldest = -1
        var waited = 0
        for round in 1...60 {
            // More samples arrive than leave. They are of any age, but never older than the oldest.
            _ = try store.outbox.enqueue(
                (0..<limit + 2).map { _ in
                    sample(
                        kinds.randomElement(using: &draw) ?? .steps,
                        Int.random(in: 51...1_000_000, using: &draw))
                })
            let batch = try #require(try store.outbox.nextBatch(limit: limit, at: noon))
            try store.outbox.settle(batch, processingID: nil, at: noon)
            waited += 1
            let left = try store.access { connection in
                try connection.first("SELECT min(start_s) FROM outbox WHERE state = 'queued'") {
                    Int($0.integer(0) - 1_700_000_000) / 60
                }
            }
            if let left, left != oldest { (oldest, waited) = (left, 0) }

            #expect(waited < 4, "limit \(limit), round \(round)")
        }
        #expect(oldest > 10)
    }

    @Test(.onFilesAlone) func `the newest and the oldest are found in the index, without sorting`()
        throws
    {
        let store = try StateFolder().open()

        let plan = try ["ASC", "DESC"].map { direction in
            try store.access { connection in
                try connection.all(
                    """
                    EXPLAIN QUERY PLAN SELECT id, start_s FROM outbox
                    WHERE \(Outbox.isAlone(.queued)) AND kind = 'steps' AND failures = 0
                    ORDER BY start_s \(direction), id \(direction) LIMIT 9
                    """
                ) { $0.text(3) }
            }
        }

        let wanted =
            "SEARCH outbox USING COVERING INDEX outbox_queue "
            + "(state=? AND kind=? AND failures=? AND batch_id=?)"
        #expect(plan == [[wanted], [wanted]])
    }
}
