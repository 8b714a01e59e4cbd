import HealthStore
import ClarityScheduler
import JSON
import CLinux
import Platform
@preconcurrency import Glibc

/// What a target is told at one time: everything that waits for it.
struct NoticeMessage: Sendable {
    var deliveries: [NoticeDelivery]
    var context = NoticeContext()
    /// Whether it is that of `notify test`, and nothing is wrong.
    var isTest = false

    private var raised: [NoticeDelivery] { deliveries.filter { $0.event == .raised } }
    private var resolved: [NoticeDelivery] { deliveries.filter { $0.event == .resolved } }

    /// Whether nothing new is wrong.
    var isGood: Bool { isTest || raised.isEmpty }

    /// One line of at most 250 bytes: the machine, and the only notice or how many there are.
    var title: String {
        let parts =
            deliveries.count == 1
            ? deliveries.map(short)
            : [
                raised.isEmpty ? nil : counted(raised.count, "notices"),
                resolved.isEmpty ? nil : "\(resolved.count) resolved",
            ].compactMap(\.self)
        let host = context.host.isEmpty ? "clarity-jobs" : context.host
        return "\(host): \(parts.joined(separator: ", "))".prefix(bytes: 250)
    }

    /// What a target is told, in at most its number of bytes: each notice with its details, and a link.
    func text(for target: NoticeTarget) -> String {
        let notices = deliveries.map { delivery in
            let notice = delivery.notice.notice
            let details =
                delivery.event == .raised
                ? notice.details(withOutput: target.rules.showsOutput) : []
            return ([line(delivery)] + details).joined(separator: "\n")
        }
        let link = target.jobsPage.map { "\($0)\n" } ?? ""
        return NoticeMessage.text(of: notices, upTo: target.mostBytes - link.utf8.count) + link
    }

    /// Returns whole notices, of one or more lines each, in at most `limit` bytes of UTF-8. The last line says how many are left
    /// out, as `and 240 more`. If not even the first line fits, it is cut between two characters.
    static func text(of lines: [String], upTo limit: Int) -> String {
        guard lines.reduce(0, { $0 + $1.utf8.count + 1 }) > limit else {
            return lines.map { $0 + "\n" }.joined()
        }
        var room = limit - (lines.count > 1 ? "and \(lines.count) more\n".utf8.count : 0)
        var kept: [String] = []
        for var line in lines {
            while kept.isEmpty, line.utf8.count + 1 > room, !line.isEmpty { line.removeLast() }
            room -= line.utf8.count + 1
            guard room >= 0 else { break }
            kept.append(line)
        }
        if kept.count < lines.count { kept.append("and \(lines.count - kept.count) more") }
        return kept.map { $0 + "\n" }.joined()
    }

    private func line(_ delivery: NoticeDelivery) -> String {
        let notice = delivery.notice.notice
        guard delivery.event == .resolved else {
            return (delivery.lastSent == nil ? "" : "still: ") + notice.headline
        }
        switch notice.kind {
        case .jobFailed: return worksAgain(notice)
        case .jobFileFaulty:
            return notice.subject.isEmpty
                ? "the job file is mended"
                : "job `\(notice.subject)` starts again: the job file is mended"
        default: return "over: " + notice.headline
        }
    }

    /// The same without the reason, for a title.
    private func short(_ delivery: NoticeDelivery) -> String {
        let notice = delivery.notice.notice
        return delivery.event == .raised && notice.kind == .jobFailed && !isTest
            ? "job `\(notice.subject)` " + (delivery.lastSent == nil ? "failed" : "still fails")
            : line(delivery)
    }

    private func worksAgain(_ notice: Notice) -> String {
        // The context has every job of the job file.
        let isUnknown = context.failures[notice.subject] == nil && !context.failures.isEmpty
        let failures = context.failures[notice.subject] ?? 0
        guard !isUnknown else {
            return "job `\(notice.subject)` is no longer in the job file"
        }
        return "job `\(notice.subject)` works again"
            + (failures > 1 ? " after \(failures) failures" : "")
    }

    /// The message for programs, in at most `limit` bytes: whole notices, and how many are left out.
    func json(for target: NoticeTarget) -> [UInt8] {
        let limit = target.mostBytes
        var notices: [JSON] = []
        // Beside the notices there are some 60 bytes and the host's name, and a comma for each.
        var room = limit - 400
        for delivery in deliveries {
            let notice = object(delivery, target.rules.showsOutput)
            room -= notice.bytes.count + 1
            guard room >= 0 else { break }
            notices.append(notice)
        }
        let object: JSON = [
            "version": 1, "host": .string(context.host), "notices": .array(notices),
            "more": .integer(Int64(deliveries.count - notices.count)),
        ]
        return object.bytes + [UInt8(ascii: "\n")]
    }

    /// The event of a notice of which the target was told before.
    private static let reminder = "repeated"

    private func object(_ delivery: NoticeDelivery, _ showsOutput: Bool) -> JSON {
        let stored = delivery.notice
        let details =
            delivery.event == .raised ? stored.notice.details(withOutput: showsOutput) : []
        return [
            "id": .integer(stored.id), "kind": .string(stored.notice.kind.rawValue),
            "subject": .string(stored.notice.subject),
            "event": .string(
                delivery.lastSent == nil ? delivery.event.rawValue : NoticeMessage.reminder),
            "text": .string(line(delivery)),
            "details": .array(details.map { .string($0) }), "raised_at": .text(stored.raisedAt),
            "resolved_at": .text(stored.resolvedAt),
        ]
    }
}

extension NoticeMessage {
    /// The message of `notify test`.
    static func test(at now: Instant) -> NoticeMessage {
        let notice = Notice(
            .jobFailed, about: "test", "this is a test of `clarity-jobs notify test`")
        var message = NoticeMessage.of([notice], at: now)
        message.isTest = true
        return message
    }

    /// A message with notices that are not stored.
    static func of(_ notices: [Notice], at now: Instant) -> NoticeMessage {
        NoticeMessage(
            deliveries: notices.map {
                NoticeDelivery(
                    notice: StoredNotice(id: 0, notice: $0, raisedAt: now), event: .raised)
            })
    }
}

/// The program of a target of notices, or the one that takes mails.
///
/// It finds its input on descriptor 0 and this process's error output on 1 and 2, because standard
/// output is for the results of `notify test`. No other descriptor is open, and no signal is blocked
/// or ignored. A name without a slash is searched for in `PATH`.
struct NoticeProgram {
    var words: [String]
    /// The variables of this process that the program does not get.
    var hidden: Set<String>

    enum End: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
        /// The system refused to start it, with its `errno`.
        case notStarted(Int32)

        /// What happened, after the name of the program.
        var text: String {
            switch self {
            case .exited(let status): "ended with \(status)"
            case .killed(let signal): "was killed by signal \(signal)"
            case .notStarted(let code):
                "cannot be started: \(SystemError(code: code).reason)"
            }
        }
    }

    /// Starts the program, writes `input` to it and waits for its end. Returns how it ended, and
    /// whether it may have read any of the input, which it need not.
    ///
    /// It has no time limit of its own: the attempt has one, at which it is killed with its group.
    func run(_ input: [UInt8]) -> (end: End, wasTaken: Bool) {
        var ends: [Int32] = [-1, -1]
        guard clinux_keep_child_status() == 0, clinux_pipe(&ends) == 0 else {
            return (.notStarted(errno), false)
        }
        var process: pid_t = 0
        let code = start(reading: ends[0], &process)
        close(ends[0])
        let wasTaken = code == 0 && NoticeProgram.write(input, to: ends[1])
        close(ends[1])
        guard code == 0 else { return (.notStarted(code), false) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return (signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal), wasTaken)
    }

    /// Returns whether any bytes were written.
    private static func write(_ input: [UInt8], to descriptor: Int32) -> Bool {
        var rest = input[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // It does not want more.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return rest.count < input.count
    }

    /// Returns 0 or the error's number.
    private func start(reading input: Int32, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        let code = clinux_spawn_close_from(&actions, STDERR_FILENO + 1)
        guard code == 0 else { return code }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        return posix_spawnp(&process, words[0], &actions, &attributes, arguments, variables())
    }

    /// Returns this process's variables, but the hidden ones, with a null at the end.
    private func variables() -> [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let entry = next.pointee {
            let name = UnsafeRawBufferPointer(start: entry, count: Int(strcspn(entry, "=")))
            if !hidden.contains(String(decoding: name, as: UTF8.self)) { variables.append(entry) }
            next += 1
        }
        return variables + [nil]
    }
}
