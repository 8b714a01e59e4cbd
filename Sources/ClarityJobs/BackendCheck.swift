import HealthModel
public import Backend
import BackendContract
public import HealthStore
public import ClarityScheduler
import Platform
public import Reports
import Synchronization

/// What `doctor --backend` finds: whether the backend answers, who it is, and what it allows.
public struct BackendCheck: Sendable {
    public private(set) var findings: [BackendResult.Finding] = []
    /// The failure that matters most; `nil` if jobs can work.
    public private(set) var failure: Failure?

    /// Asks the backend, in the name of the session that is stored, if there is one.
    ///
    /// Logs nobody in and renews no session: the renewal would be known to the copy of the store
    /// alone, and a refresh token may work only once.
    ///
    /// - Parameter limits: the folder of the backend's limits; `nil` if there is none yet.
    public init(
        _ options: BackendOptions, _ store: HealthStore, _ transport: any HTTPTransport,
        limits: String? = nil, clock: any WallClock
    ) async throws {
        let watched = WatchedTransport(transport, clock)
        // Outside of what is watched: a wait for the limits is no wait for the backend.
        let limited =
            limits.map { options.limited(watched, of: store, in: $0, clock: clock) } ?? watched
        let client = try options.client(store, limited, clock: clock)
        do throws(APIError) {
            let dialect = try await client.greet()
            add("backend", "\(options.url) answers in \(watched.longest.text)")
            if options.url.hasPrefix("https:") {
                let pins = options.pins.map { $0.split(separator: "\n").count } ?? 0
                add(
                    "certificate",
                    "trusted, TLS 1.3 or newer"
                        + (pins > 0 ? ", its key is one of \(pins) pins" : ""))
            }
            let isOther = ![dialect, "auto"].contains(options.dialect)
            add(
                "dialect",
                dialect + (isOther ? ", and the job file says \(options.dialect)" : ""),
                isGood: !isOther)
            add("uploads", BackendCheck.words(try await client.endpoint()))
            for fault in Dialect.named(dialect)?.knownFaults ?? [] {
                add(fault.subject, fault.sentence)
            }
        } catch {
            add("backend", error)
        }
        addClock(watched.skew)
        guard failure == nil else { return }
        let session = try store.sessions.load()
        if let session {
            add("session", "logged in until \(session.expiresAt)")
        } else {
            add("session", "nobody is logged in", isGood: false)
        }
        await add("service") { () async throws(APIError) in try await client.serviceHealth() }
        // The other two want a session.
        guard let session, session.expiresAt > clock.now else { return }
        await add("insights") { () async throws(APIError) in try await client.insightStatus() }
        await add("analyses") { () async throws(APIError) in try await client.actigraphyHealth() }
    }

    private mutating func add(_ subject: String, _ text: String, isGood: Bool = true) {
        findings.append(BackendResult.Finding(subject: subject, text: text, isGood: isGood))
    }

    private mutating func add(_ subject: String, _ error: APIError) {
        let classification = error.classification
        add(subject, classification.sentence, isGood: false)
        failure = failure ?? Failure(classification.category, classification.sentence)
    }

    /// A service that is ill does not keep jobs from working: the deployed backend says it is well
    /// whatever happens, and an answer that is missing says little.
    private mutating func add(
        _ subject: String, _ ask: () async throws(APIError) -> ServiceHealth
    ) async {
        do throws(APIError) {
            let health = try await ask()
            let version = health.version.map { ", version \($0)" } ?? ""
            let answer = health.isHealthy ? "says it is healthy" : "says it is not healthy"
            add(subject, answer + version, isGood: health.isHealthy)
        } catch .notOffered {
            add(subject, "this backend does not say")
        } catch .knownFault(let fault, _) {
            add(subject, fault.sentence)
        } catch .cancelled {
            add(subject, "the session must be renewed first; the next job does that")
        } catch {
            add(subject, error.classification.sentence, isGood: false)
        }
    }

    /// Five minutes: a backend that checks times refuses what seems to come from the future.
    private static let largestSkew = Duration.seconds(300)

    private mutating func addClock(_ skew: Duration?) {
        guard let skew else { return }
        let size = skew < .zero ? .zero - skew : skew
        let text =
            size < .seconds(2)
            ? "agrees with the backend's to the second"
            : "this machine is \(size.text) \(skew < .zero ? "behind" : "ahead of") the backend"
        add("clock", text, isGood: size < BackendCheck.largestSkew)
    }

    private static func words(_ rules: UploadEndpoint) -> String {
        let parts = [
            "\(rules.samplesPerRequest) samples a request",
            "\(rules.requestBytes / 1024) KiB",
            rules.requestsPerHour.map { "\($0) requests an hour" },
            rules.isIdempotent ? "repeats are recognised" : "repeats are stored twice",
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    public var lines: [String] {
        findings.map { "\($0.subject): \($0.text)".forReport }
    }

    /// The check for programs.
    public var result: BackendResult {
        BackendResult(isUsable: failure == nil, findings: findings)
    }
}

/// Sends through another transport, and notes how long answers take and what time it is at the
/// server.
private final class WatchedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let clock: any WallClock
    private let notes = Mutex<(longest: Duration, skew: Duration?)>((.zero, nil))

    init(_ transport: any HTTPTransport, _ clock: any WallClock) {
        self.transport = transport
        self.clock = clock
    }

    var longest: Duration {
        let span = notes.withLock { $0.longest }
        return .milliseconds(max(1, span.milliseconds))
    }

    /// How far this machine's clock is ahead of the server's, to the second; `nil` if the server
    /// says no time.
    var skew: Duration? { notes.withLock { $0.skew } }

    var executor: (any TaskExecutor)? { transport.executor }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        guard ![.login, .refresh].contains(request.call) else { throw .cancelled }
        let began = clock.elapsed
        let response = try await transport.send(request)
        let span = clock.elapsed - began
        let middle = clock.now - span / 2
        notes.withLock { notes in
            notes.longest = max(notes.longest, span)
            if let date = response.headers["date"].flatMap(HTTPDate.parse) {
                let skew = middle - date
                // The server's second has begun up to a second before.
                notes.skew = .zero <= skew && skew < .seconds(1) ? .zero : skew
            }
        }
        return response
    }
}
