import Backend
import BackendContract
import HealthStore
import HealthModel
import Reports
public import ClarityScheduler
import Import
import Platform

/// Does the work of one kind of job.
///
/// It works in steps that each leave the store consistent, and calls `checkTime` between them.
protocol KindWorker: Sendable {
    /// The options of the kind.
    associatedtype Options: DeclaredOptions

    /// Whether the work may change what `AccountFacts` says; true unless a kind says otherwise.
    var changesHealthData: Bool { get }

    /// Works until nothing is left to do, or until it is warned that its time ends.
    ///
    /// - Throws: the errors that `outcome(of:)` has a row for; any other error is a fault of this
    ///   program.
    func run(_ options: Options, _ context: WorkContext) async throws -> Outcome
}

extension KindWorker {
    var changesHealthData: Bool { true }

    fileprivate func run(_ context: WorkContext) async throws -> Outcome {
        try await run(Options(context.order.options), context)
    }
}

/// The options of a kind that has a worker here. Each worker's file says which options are its own.
protocol WorkedOptions: KindOptions {
    static var worker: any KindWorker { get }
}

/// Returns the worker of a kind; `nil` for a kind that is not in `clarityKinds`.
func kindWorker(for kind: JobKind) -> (any KindWorker)? {
    let options = clarityKinds.first { $0.declaration.kind == kind }
    return (options as? any WorkedOptions.Type)?.worker
}

/// Runs one attempt of the order's kind to its outcome; never throws.
func work(_ context: WorkContext) async -> Outcome {
    guard let worker = kindWorker(for: context.order.kind) else {
        return .failure(
            Failure(.configuration, "there is no worker for the kind `\(context.order.kind)`"))
    }
    do {
        return try await worker.run(context).forReport
    } catch let error as APIError where error.classification.course == .endSession {
        return context.awaitingLogin(after: error)
    } catch HealthStoreError.loggedOut {
        return context.awaitingLogin(after: .notLoggedIn)
    } catch {
        return outcome(of: error)
    }
}

extension WorkContext {
    /// Returns the outcome of work that needs a session and has none.
    fileprivate func awaitingLogin(after error: APIError) -> Outcome {
        // A dry run returns the error as it is: its store is a copy that gets no login.
        guard !isDryRun else { return error.outcome }
        let reason =
            error == .notLoggedIn
            ? "waits for a login; run `clarity-jobs auth login`"
            : "waits for a login: \(error.classification.sentence)"
        // By this category the planner lets the next occurrence try the renewal again.
        let failure = Failure(error.mayBeOutage ? .unreachable : .credential, reason)
        do throws(HealthStoreError) {
            return switch try store.sessions.awaitLogin(at: clock.now) {
            case .begun: .awaits(.login, failure)
            // The next attempt has a session.
            case .over: .retry(after: nil, failure)
            case .unnoticed: .snooze(after: SessionRecord.Trouble.lastingSpan, failure)
            }
        } catch {
            return outcome(of: error)
        }
    }
}

extension APIError {
    /// Whether an outage may be the cause, although the error asks for a login.
    fileprivate var mayBeOutage: Bool { if case .renewalRefused = self { true } else { false } }
}

/// Returns what an error means for an attempt, in words that a report can hold. This is the only
/// table of these outcomes.
public func outcome(of error: any Error) -> Outcome {
    classification(on: error).forReport
}

private func classification(on error: any Error) -> Outcome {
    switch error {
    case let error as APIError: error.outcome
    case let error as HealthStoreError:
        error.isBusy ? .retry(after: nil, error.failure) : .failure(error.failure)
    case let error as SourceError: .failure(error.failure)
    case RecordExport.Fault.store(let error): classification(on: error)
    case let error as RecordExport.Fault: error.outcome
    case let failure as Failure: .failure(failure)
    case let later as SendLater: later.outcome
    case is WorkStopped:
        .retry(after: nil, Failure(.work, "its time ended before everything was done"))
    // The text of an unknown error could contain anything.
    default: .failure(Failure(.internalFault, "unexpected error of type `\(type(of: error))`"))
    }
}

extension Outcome {
    var forReport: Outcome { worded(\.forReport) }

    /// Returns the outcome with its reason in other words.
    func worded(_ words: (String) -> String) -> Outcome {
        func worded(_ failure: Failure) -> Failure {
            Failure(failure.category, words(failure.reason))
        }
        return switch self {
        case .success: self
        case .retry(let after, let failure): .retry(after: after, worded(failure))
        case .snooze(let after, let failure): .snooze(after: after, worded(failure))
        case .awaits(let need, let failure): .awaits(need, worded(failure))
        case .failure(let failure): .failure(worded(failure))
        }
    }
}

extension TransportError {
    /// The failure of a request to another receiver than the backend, in words of its own, and
    /// whether the receiver may have the request in spite of it.
    func failure(of receiver: String) -> (failure: Failure, mayHaveArrived: Bool) {
        switch self {
        case .refused(let why):
            let reason = why.replacing("the backend's", with: "its")
            return (Failure(.configuration, "\(receiver) cannot be asked: \(reason)"), false)
        case .tls, .tlsVersion, .certificateNotTrusted, .certificateOutOfDate,
            .certificateForOtherHost, .pinMismatch, .authoritiesUnreadable:
            let reason = "has no certificate or TLS that is trusted"
            return (Failure(.configuration, "\(receiver) \(reason)"), false)
        case .library(let code):
            return (Failure(.internalFault, "libcurl failed (\(code))"), false)
        case .offline, .nameNotResolved, .couldNotConnect, .proxyRefused, .connectTimeout:
            return (Failure(.unreachable, "\(receiver) cannot be reached"), false)
        case .stalled, .timeout, .reset, .truncated, .malformed, .badEncoding, .tooLarge,
            .headTooLarge, .limited, .limitsUnusable, .cancelled:
            return (Failure(.unreachable, "\(receiver) gave no whole answer"), true)
        }
    }
}

extension SourceError {
    /// The error as a worker's failure. Errors that a person can fix are configuration failures.
    var failure: Failure {
        switch self {
        case .missing, .noPermission, .notAFile, .notAFolder, .notAnExport, .noExportInside,
            .severalExports,
            .notAnAutoExport, .notOneFile, .unknownKind, .tooLarge, .otherTimeZone, .symbolicLink,
            .hardLink:
            Failure(.configuration, description)
        case .empty, .damaged: Failure(.work, description)
        case .unreadable: Failure(.disk, description)
        }
    }
}

/// Everything that one attempt works with.
struct WorkContext: Sendable {
    let order: AttemptOrder
    let store: HealthStore
    /// The client of the order's backend; `nil` for an order without one.
    let backend: APIClient?
    /// The client's transport, for requests to servers other than the backend.
    let transport: any HTTPTransport
    let clock: any WallClock
    /// The time zones that sources can name.
    var zones = SourceZones(environment: [:])
    /// The secrets that the job's options name.
    var secrets = NoticeSecrets(environment: [:])
    /// When the attempt began, on the monotonic clock.
    let startedAt: Duration
    /// Reports to the scheduler how the work goes.
    let report: @Sendable (AttemptReport) -> Void
    /// Whether the work was warned that its time ends.
    let isEnding: @Sendable () -> Bool
    /// Whether this is a dry run: nothing is sent, and the store is a private copy.
    var isDryRun = false

    /// The sections that the order carries.
    var sections: SectionValues { SectionValues(order.options) }

    /// The client of the backend, for work that needs one.
    ///
    /// - Throws: `APIError.store` if the order has no backend, which no job of such a kind has.
    var client: APIClient {
        get throws(APIError) {
            guard let backend else { throw .store(BackendOptions.missing) }
            return backend
        }
    }

    /// Ends the work at a point where it can be resumed.
    ///
    /// - Throws: `WorkStopped` once the work was warned that its time ends.
    func checkTime() throws(WorkStopped) {
        if isEnding() { throw WorkStopped() }
    }

    /// Reports what holds now of the health data, if the kind may have changed it.
    ///
    /// Every attempt reports all facts, since they replace those of other kinds.
    func reportFacts() {
        guard kindWorker(for: order.kind)?.changesHealthData == true else { return }
        do {
            let goals = try sections.freshness
            let facts = try store.accountFacts(
                for: goals, hasBackend: backend != nil, now: clock.now)
            for fact in facts.reported { report(.fact(fact)) }
        } catch {
            // The former facts stay, with their time.
            switch outcome(of: error) {
            case .success: break
            case .retry(_, let failure), .snooze(_, let failure), .awaits(_, let failure),
                .failure(let failure):
                note("`status` keeps what it knew of the data: \(failure.reason)")
            }
        }
    }

    /// Reports something for people.
    func note(_ text: String) { report(.note(text.forReport)) }
}

/// The work was warned that its time ends, and left the rest for later.
struct WorkStopped: Error {}

/// Counts that are reported as they grow.
struct WorkCounts {
    private var tally = Tally()
    private let report: @Sendable (AttemptReport) -> Void

    init(_ context: WorkContext) { report = context.report }

    subscript(name: String) -> Int64 { tally[name] }

    /// Adds to a count. The first time it also reports a 0, so that zeros are visible.
    mutating func add(_ amount: some BinaryInteger, to name: String) {
        let isNew = !tally.names.contains(name)
        guard amount != 0 || isNew else { return }
        tally[name] += Int64(amount)
        report(.count(name: name, tally[name]))
    }

    /// Adds to several counts, in order.
    mutating func add(_ amounts: KeyValuePairs<String, Int64>) {
        for (name, amount) in amounts { add(amount, to: name) }
    }
}
