public import Backend
import BackendContract
import Synchronization
import Platform
import HealthStore
public import ClarityScheduler

/// Runs an attempt from its order to its outcome.
public enum AttemptRunner {
    /// Opens the store, connects the client and runs the worker of the order's kind; never throws.
    /// The commands in its texts name the account of the order's job.
    ///
    /// - Parameter transport: makes the client's transport; called at most once.
    public static func run(
        _ order: AttemptOrder, environment: [String: String], clock: any WallClock,
        transport: () throws -> any HTTPTransport,
        report: @escaping @Sendable (AttemptReport) -> Void,
        isEnding: @escaping @Sendable () -> Bool
    ) async -> Outcome {
        let account = order.job.account?.rawValue
        let outcome = await attempt(
            order, environment: environment, clock: clock, transport: transport,
            report: { said in
                if case .note(let text) = said {
                    report(.note(text.namingAccount(account)))
                } else {
                    report(said)
                }
            }, isEnding: isEnding)
        return outcome.worded { $0.namingAccount(account) }
    }

    private static func attempt(
        _ order: AttemptOrder, environment: [String: String], clock: any WallClock,
        transport: () throws -> any HTTPTransport,
        report: @escaping @Sendable (AttemptReport) -> Void,
        isEnding: @escaping @Sendable () -> Bool
    ) async -> Outcome {
        do {
            let store = try HealthStore(
                stateDirectory: SectionValues(order.options).state.directory,
                environment: environment,
                actor: AuditActor(order), clock: clock)
            guard order.kind != .notify else {
                return try await NotifyAttempt(
                    order, store, try transport(), environment: environment, clock: clock,
                    report: report
                ).run().forReport
            }
            let context = try WorkContext(
                order, store, try transport(), environment: environment, clock: clock,
                report: report, isEnding: isEnding)
            return await withTaskExecutorPreference(context.transport.executor) {
                let outcome = await work(context)
                context.reportFacts()
                return outcome
            }
        } catch let error as TransportError {
            return outcome(of: APIError(error, host: ""))
        } catch {
            return outcome(of: error)
        }
    }
}

extension WorkContext {
    /// Creates the context of an attempt that begins now, with a client of the order's backend, if
    /// it has one.
    ///
    /// A dry run gets no password to log in with.
    init(
        _ order: AttemptOrder, _ store: HealthStore, _ transport: any HTTPTransport,
        environment: [String: String], clock: any WallClock,
        report: @escaping @Sendable (AttemptReport) -> Void,
        isEnding: @escaping @Sendable () -> Bool, isDryRun: Bool = false
    ) throws(Failure) {
        // Measured in a dry run too, because the metered budget depends on what is sent.
        let transport = MeasuredTransport(transport, report: isDryRun ? nil : report)
        let sections = SectionValues(order.options)
        let startedAt = clock.elapsed
        let client = try sections.backend.map { backend throws(Failure) in
            // A dry run sends nothing, so it waits for nothing.
            let limited =
                isDryRun
                ? transport
                : backend.limited(
                    transport, of: store, in: try sections.state.limitsFolder, clock: clock,
                    deadline: startedAt + order.timeout - order.warning)
            return try backend.client(
                store, limited, clock: clock, environment: isDryRun ? [:] : environment)
        }
        self.init(
            order: order, store: store, backend: client, transport: transport, clock: clock,
            zones: SourceZones(environment: environment),
            secrets: NoticeSecrets(environment: environment), startedAt: startedAt,
            report: report, isEnding: isEnding, isDryRun: isDryRun)
    }
}

extension AttemptOrder {
    /// Returns which servers to trust as the backend, or as the job's own receiver.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two; `Failure`.
    public func trust() throws -> CurlTransport.Trust {
        // The targets of notices are many servers, each with a certificate that the system trusts.
        if kind == .notify { return CurlTransport.Trust() }
        let declared = clarityCatalogue.kinds.first { $0.kind == kind }
        guard let address = declared?.addressKey, address != backendAddress else {
            return try SectionValues(options).backend?.trust() ?? CurlTransport.Trust()
        }
        // The receiver of such a kind is another server, with trust settings of its own.
        let given = options.filter { !$0.value.isEmpty }
        do throws(TransportError) {
            return try CurlTransport.Trust(
                authorities: given[OptionDeclaration.authorities],
                pinLines: given[OptionDeclaration.pins])
        } catch {
            guard case .refused(let why) = error else { throw error }
            throw TransportError.refused(why.replacing("`backend.pins`", with: "`pins`"))
        }
    }
}

/// Sends through another transport, and counts the answers by class of status, and the bytes of all
/// request bodies, retries included.
final class MeasuredTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let report: (@Sendable (AttemptReport) -> Void)?
    private let bytes = Atomic<Int64>(0)
    private let answers = Mutex(Tally())

    /// Creates a transport that measures `transport`.
    ///
    /// - Parameter report: gets a count named `http_2xx` after an answer with such a status, and
    ///   `http_none` where no answer came.
    init(_ transport: any HTTPTransport, report: (@Sendable (AttemptReport) -> Void)? = nil) {
        self.transport = transport
        self.report = report
    }

    /// The bytes of all bodies so far.
    var bodyBytes: Int64 { bytes.load(ordering: .relaxed) }

    var executor: (any TaskExecutor)? { transport.executor }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        bytes.add(Int64(request.body?.count ?? 0), ordering: .relaxed)
        do throws(TransportError) {
            let response = try await transport.send(request)
            count("\(response.status / 100)xx")
            return response
        } catch {
            if error != .cancelled { count("none") }
            throw error
        }
    }

    private func count(_ answer: String) {
        guard let report else { return }
        let name = Tally.answerPrefix + answer
        // Reported inside: a count that arrives late would replace a higher one.
        answers.withLock { answers in
            answers[name] += 1
            report(.count(name: name, answers[name]))
        }
    }
}
