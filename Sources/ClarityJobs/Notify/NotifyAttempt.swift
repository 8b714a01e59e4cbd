public import Backend
import BackendContract
import HealthStore
public import ClarityScheduler
import Platform

/// One attempt of the kind `notify`: finds out what a person should know, and tells each target.
///
/// The scheduler puts the notices that follow from the history into the order; those that follow
/// from the health data are found here. Each is stored, with what to tell whom, before anything is
/// sent. A message is recorded as under way before it is sent, so that a killed attempt leaves it
/// to the next one, which counts it as a possible duplicate.
public struct NotifyAttempt {
    private let order: AttemptOrder
    private let store: HealthStore
    private let sender: NoticeSender
    private let environment: [String: String]
    private let clock: any WallClock
    private let report: @Sendable (AttemptReport) -> Void

    init(
        _ order: AttemptOrder, _ store: HealthStore, _ transport: any HTTPTransport,
        environment: [String: String], clock: any WallClock,
        report: @escaping @Sendable (AttemptReport) -> Void
    ) throws(Failure) {
        self.order = order
        self.store = store
        self.environment = environment
        self.clock = clock
        self.report = report
        sender = NoticeSender(
            transport: transport, secrets: NoticeSecrets(environment: environment), clock: clock,
            hidden: try order.secretVariables(environment))
    }

    func run() async throws -> Outcome {
        let targets = try order.targets()
        var failures: [Failure] = []
        for target in targets {
            await note(&failures) { () async throws(NoticeSendError) in
                try await sender.ping("/start", "", target)
            }
        }
        let changes = try store.notices.update(
            try active(), targets: targets.map(\.addressee), at: clock.now)
        report(.count(name: "notices_raised", Int64(changes.raised)))
        report(.count(name: "notices_resolved", Int64(changes.resolved)))
        var sent: Int64 = 0
        for target in targets where try mayTell(target) {
            let waiting = try store.notices.pending(
                for: target.name, reminding: target.rules.repeatsAfter.map { clock.now - $0 })
            guard !waiting.isEmpty else { continue }
            try store.notices.begin(waiting, to: target.name)
            do throws(NoticeSendError) {
                try await sender.send(
                    NoticeMessage(deliveries: waiting, context: context), to: target)
            } catch {
                try store.notices.postpone(
                    waiting, to: target.name, mayHaveArrived: error.mayHaveArrived)
                let count = counted(waiting.count, "notices")
                failures.append(
                    Failure(error.failure.category, "\(error.failure.reason); \(count) not sent"))
                continue
            }
            try store.notices.finish(waiting, to: target.name, at: clock.now)
            sent += 1
        }
        report(.count(name: "messages_sent", sent))
        let open = try store.notices.open()
        for target in targets {
            let wanted = open.filter { target.addressee.wants($0.notice) }
            let text = NoticeMessage.text(
                of: wanted.map(\.notice.headline), upTo: target.mostBytes)
            await note(&failures) { () async throws(NoticeSendError) in
                try await sender.ping(wanted.isEmpty ? "" : "/fail", text, target)
            }
        }
        // What another try cannot mend is told first, and does not delay the other targets.
        let failure = failures.first { $0.category != .unreachable } ?? failures.first
        guard let failure else { return .success }
        return failures.contains { $0.category == .unreachable }
            ? .retry(after: nil, failure) : .failure(failure)
    }

    private var context: NoticeContext { NoticeContext(order.options) }

    private func note(
        _ failures: inout [Failure], _ body: () async throws(NoticeSendError) -> Void
    ) async {
        do throws(NoticeSendError) {
            try await body()
        } catch {
            failures.append(error.failure)
        }
    }

    /// Returns everything that a person should know now.
    private func active() throws -> [Notice] {
        var notices = Notice.active(in: order.options)
        let sections = SectionValues(order.options)
        let hasBackend = try sections.backend != nil
        let held = hasBackend ? try store.outbox.backlog().forPerson : 0
        if held > 0 {
            notices.append(
                Notice(
                    .samplesSetAside,
                    held == 1
                        ? "1 sample waits for your decision; see `clarity-jobs outbox`"
                        : "\(held) samples wait for your decision; see `clarity-jobs outbox`"))
        }
        let isLoggedIn = try store.sessions.isUsable(at: clock.now)
        for goal in try sections.freshness {
            let facts = try store.freshness(of: goal, hasBackend: hasBackend, now: clock.now)
            let verdict = FreshnessVerdict(
                on: goal, facts, jobs: [], isLoggedIn: isLoggedIn || !hasBackend, now: clock.now)
            guard !verdict.holds else { continue }
            let name = goal.subject.name
            notices.append(
                Notice(
                    .goalMissed, about: name,
                    "\(name) is older than \(goal.within.text); see `clarity-jobs status`"))
        }
        return notices
    }

    /// Whether neither `quiet` nor `at_most` keeps a message from being sent now.
    private func mayTell(_ target: NoticeTarget) throws -> Bool {
        let now = clock.now
        if let text = target.rules.quiet {
            let zones = SystemZones(environment: environment)
            let name = LocalZone.identifier(environment: environment)
            guard let zone = zones.zone(named: name) else {
                throw Failure(.configuration, "this machine's time zone `\(name)` is not known")
            }
            do throws(ExpressionError) {
                if Windows([try Window(text)], in: zone).isOpen(at: now) { return false }
            } catch {
                throw Failure(
                    .configuration, "`quiet` of target `\(target.name)` is not understood")
            }
        }
        guard let rate = target.rules.atMost else { return true }
        let last = try store.notices.lastMessages(to: target.name, rate.count)
        guard last.count == rate.count, let earliest = last.last else { return true }
        return earliest <= now - rate.span || earliest > now
    }
}

extension NotifyAttempt {
    /// Shows what each target would be told now. Sends nothing, and pings no check.
    ///
    /// - Parameter store: a copy of the real one, which this changes.
    static func dryRun(
        _ order: AttemptOrder, _ store: HealthStore, environment: [String: String],
        clock: any WallClock, show: (String) -> Void
    ) throws {
        let attempt = try NotifyAttempt(
            order, store, NoTransport(), environment: environment, clock: clock, report: { _ in })
        let targets = try order.targets()
        _ = try store.notices.update(
            try attempt.active(), targets: targets.map(\.addressee), at: clock.now)
        for target in targets {
            let message = NoticeMessage(
                deliveries: try store.notices.pending(
                    for: target.name, reminding: target.rules.repeatsAfter.map { clock.now - $0 }),
                context: attempt.context)
            let text =
                message.deliveries.isEmpty
                ? "nothing new\n" : message.text(for: target)
            let isHeld = try !attempt.mayTell(target)
            show("\(target.name):\(isHeld ? " later," : "") \(text)".printableLines)
        }
    }

    /// Sends a test message to each target, or to one. If the order has notices, sends these
    /// instead to the targets that want them.
    ///
    /// - Parameter show: called for each target with its name and why it has no message; `nil` if
    ///   it has.
    /// - Returns: the first failure; `nil` if each target has its message.
    /// - Throws: `Failure` for a target with a fault, or if no target has the name.
    public static func test(
        _ order: AttemptOrder, only name: String?, environment: [String: String],
        clock: any WallClock, transport: any HTTPTransport,
        show: (_ target: String, _ fault: String?) -> Void
    ) async throws -> Failure? {
        let targets = try order.targets().filter {
            name == nil || $0.name == name
        }
        guard !targets.isEmpty else {
            throw Failure(
                .configuration,
                name.map { "`notify` has no target `\($0)`" } ?? "the job file has no `notify`")
        }
        let sender = NoticeSender(
            transport: transport, secrets: NoticeSecrets(environment: environment), clock: clock,
            hidden: try order.secretVariables(environment))
        let notices = Notice.active(in: order.options)
        var first: Failure?
        for target in targets {
            let wanted = notices.filter(target.addressee.wants)
            guard notices.isEmpty || !wanted.isEmpty else { continue }
            var message =
                notices.isEmpty ? NoticeMessage.test(at: clock.now) : .of(wanted, at: clock.now)
            message.context = NoticeContext(order.options)
            do throws(NoticeSendError) {
                try await sender.send(message, to: target)
                show(target.name, nil)
            } catch {
                show(target.name, error.failure.reason)
                first = first ?? error.failure
            }
        }
        return first
    }
}

/// The transport of a dry run, which sends nothing.
private struct NoTransport: HTTPTransport {
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        throw .offline
    }
}

extension AttemptOrder {
    /// The variables that no program of a target may see: secrets of targets, the master key, the
    /// account's password and where the health data is.
    fileprivate func secretVariables(
        _ environment: [String: String]
    ) throws(Failure) -> Set<String> {
        let pointer = "CLARITY_JOBS_KEY_VARIABLE"
        let sections = SectionValues(options)
        let names =
            try [sections.key.variable, environment[pointer]] + sections.targets.map(\.secretName)
        return Set(names.compactMap(\.self))
            .union([
                "CREDENTIALS_DIRECTORY", "CLARITY_JOBS_KEY", pointer, AccountEnvironment.password,
                AccountEnvironment.wraps, ServerAccount.variable,
            ])
    }
}

extension Instant {
    /// The date as mails have it (RFC 5322 section 3.3), in UTC.
    var mailDate: String {
        let time = CivilTime(millisecondsSince1970)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        return "\(time.day) \(months[time.month - 1]) \(time.year) \(two(time.hour)):"
            + "\(two(time.minute)):\(two(time.second)) +0000"
    }
}
