import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport

/// A state directory and a clock.
struct StoreBench {
    let clock = ManualClock(Instant(secondsSince1970: 1_760_000_000))
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func store(as actor: AuditActor = AuditActor()) throws -> HealthStore {
        try HealthStore(
            stateDirectory: "\(folder.path)/state", environment: [:], actor: actor, clock: clock)
    }

    /// Puts a heart rate a minute into the outbox.
    func enqueue(_ range: Range<Int>) throws {
        _ = try store().outbox.enqueue(
            range.map { index in
                let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 60)
                return Sample(
                    kind: .heartRate, start: start, end: start,
                    value: .single(50 + Double(index) / 8))
            })
    }
}
