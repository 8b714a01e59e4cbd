import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import Synchronization

/// The pipeline of samples into the outbox. While the caller reads a source, one thread
/// encrypts its samples and makes their blind indexes, and another writes them.
///
/// Samples move in portions. Only a few portions are under way, so that a fast stage waits for the
/// others.
struct IntakeLine: Sendable {
    /// The samples that move through the pipeline together.
    private struct Portion: Sendable {
        var samples: [Sample] = []
        var aggregates: [(sample: Sample, asOf: Instant)] = []

        var count: Int { samples.count + aggregates.count }

        mutating func add(_ sample: Sample, _ nature: SampleNature) {
            switch nature {
            case .measurement, .knownMeasurement: samples.append(sample)
            case .aggregate(let asOf): aggregates.append((sample, asOf))
            }
        }
    }

    /// The pipeline ended because one of its threads failed.
    private struct Ended: Error {}

    /// The results that the threads share.
    private struct State {
        var counts = EnqueueCounts()
        var failure: HealthStoreError?
    }

    private final class Shared: Sendable {
        let read = BlockingQueue<Portion>(room: 1)
        let encrypted = BlockingQueue<OutboxPortion>(room: 1)
        let state = Mutex(State())

        func cancel() {
            read.cancel()
            encrypted.cancel()
        }

        func fail(_ error: HealthStoreError) {
            state.withLock { if $0.failure == nil { $0.failure = error } }
            cancel()
        }
    }

    let store: HealthStore
    /// The number of samples in a portion, at least 1.
    var portion = Outbox.intakePortion

    init(_ store: HealthStore) { self.store = store }

    /// Calls `read`, which passes on samples, and returns when all of them are in the outbox.
    ///
    /// An error ends everything. What was committed before stays, nothing more is written once this
    /// returns, and no thread is left.
    ///
    /// - Parameter reading: the reading that counts the samples in the ledger.
    /// - Throws: the errors of `read`; `HealthStoreError`; `SystemError`.
    func run<Result>(
        of reading: Reading? = nil,
        _ read: (_ each: SampleHandler) throws -> Result
    ) throws -> (result: Result, counts: EnqueueCounts) {
        let shared = Shared()
        let store = store
        do {
            let result = try withThreads(
                [
                    { IntakeLine.encrypt(shared, store) },
                    { IntakeLine.write(shared, store, reading) },
                ],
                cancel: shared.cancel
            ) {
                do {
                    let result = try fill(shared.read, read)
                    shared.read.finish()
                    return result
                } catch {
                    shared.cancel()
                    throw error
                }
            }
            let state = shared.state.withLock { $0 }
            if let failure = state.failure { throw failure }
            return (result, state.counts)
        } catch is Ended {
            throw shared.state.withLock { $0.failure } ?? HealthStoreError.changedHands
        }
    }

    private func fill<Result>(
        _ line: BlockingQueue<Portion>,
        _ read: (_ each: SampleHandler) throws -> Result
    ) throws -> Result {
        // Reserves a whole portion at once: an array that grows by doubling takes up to twice as
        // much.
        func empty() -> Portion {
            var portion = Portion()
            portion.samples.reserveCapacity(self.portion)
            return portion
        }
        var next = empty()
        func put() throws {
            guard line.put(next) else { throw Ended() }
            next = empty()
        }
        let result = try read { sample, nature in
            next.add(sample, nature)
            if next.count >= portion { try put() }
        }
        if next.count > 0 { try put() }
        return result
    }

    private static func encrypt(_ shared: Shared, _ store: HealthStore) {
        do throws(HealthStoreError) {
            while let portion = shared.read.take() {
                let encrypted = try store.outbox.prepare(
                    portion.samples, aggregates: portion.aggregates)
                guard shared.encrypted.put(encrypted) else { return }
            }
            shared.encrypted.finish()
        } catch {
            shared.fail(error)
        }
    }

    private static func write(
        _ shared: Shared, _ store: HealthStore, _ reading: Reading?
    ) {
        do throws(HealthStoreError) {
            while let portion = shared.encrypted.take() {
                let counts = try store.outbox.commit(portion, of: reading)
                shared.state.withLock { $0.counts += counts }
            }
        } catch {
            shared.fail(error)
        }
    }
}
