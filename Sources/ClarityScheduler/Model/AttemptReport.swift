/// A message from a worker about its running attempt; `outcome` is the last one.
public enum AttemptReport: Hashable, Sendable {
    /// `done` of `total` units are done; `total` is 0 while it is unknown.
    case progress(done: Int64, total: Int64)
    /// The new value of a named count; it replaces the value in an earlier report of that name.
    case count(name: String, Int64)
    /// Something that is true at the end of the attempt; it replaces an earlier one of its name.
    case fact(AttemptFact)
    /// A note for the person who reads the run's history; free of secrets and health values.
    case note(String)
    /// The checkpoint that the run's next attempt gets as `AttemptOrder.checkpoint`.
    case checkpoint(String)
    /// An event that jobs may wait for with `on:`. They start when the attempt has ended, however
    /// it ends. A repeated name counts once, and the attempt's own job does not react to it.
    case happened(EventName)
    case outcome(Outcome)
}

/// A named number that holds at the end of an attempt, such as how much is left to do.
///
/// The facts of an attempt that reports an outcome replace all former ones of its job's account.
public struct AttemptFact: Hashable, Sendable {
    /// The maximum length of a name, in bytes.
    public static let longestName = 100

    /// Any text without a blank or a line feed, 1 to `longestName` bytes long.
    public var name: String
    /// A count or a time in milliseconds since 1970, not below 0; `nil` if there is none yet.
    public var value: Int64?
    /// When the worker looked.
    public var at: Instant

    /// Creates a fact.
    public init(_ name: String, _ value: Int64?, at instant: Instant) {
        self.name = name
        self.value = value
        at = instant
    }
}

/// A request to a running attempt.
public enum AttemptSignal: Hashable, Sendable {
    /// Finish soon, or leave a checkpoint, and return.
    case warn
    /// End now.
    case kill
}

/// The outcome that a worker reports at the end of an attempt.
public enum Outcome: Hashable, Sendable {
    /// The work is done.
    case success
    /// The work is not done but may be later. `after` is the wait that the worker asks for; `nil`
    /// leaves the wait to the job's `RetryPolicy`.
    case retry(after: Duration?, Failure)
    /// The work went as far as it can for now and continues after a known span, such as the rest of
    /// an hour whose requests are used up. Nothing has failed, and the attempt does not count
    /// against the retry policy.
    case snooze(after: Duration, Failure)
    /// The work starts or continues when a condition holds that it needs beyond those of its job,
    /// such as external power for a large upload. Nothing has failed, and the attempt does not
    /// count against the retry policy.
    case awaits(NeededCondition, Failure)
    /// The work failed for good; a retry cannot help.
    case failure(Failure)
}

/// Why an attempt did not succeed: a category to act on and a sentence for people.
public struct Failure: Error, Hashable, Sendable {
    /// The kind of failure, by what it needs from the operator; determines the exit status.
    public enum Category: String, CaseIterable, Sendable {
        /// The work itself cannot be done.
        case work
        /// The backend did not answer or is not working.
        case unreachable
        /// The backend refused the credential, or there is none.
        case credential
        /// A setting, key or file that the work needs is missing or wrong.
        case configuration
        /// A disk is full or fails.
        case disk
        /// The worker broke: a bug in this program.
        case internalFault = "internal"
    }

    public var category: Category
    /// A lowercase fragment without final period, free of secrets and health values.
    public var reason: String

    /// Creates a failure; `reason` is shown to people unchanged.
    public init(_ category: Category, _ reason: String) {
        self.category = category
        self.reason = reason
    }
}

/// A condition that a run itself needs, beyond the constraints of its job.
public enum NeededCondition: String, CaseIterable, Sendable {
    /// The machine runs on external power.
    case externalPower = "external_power"
    /// The connection is not metered.
    case unmetered = "network_unmetered"
    /// Somebody is logged in. If the worker has failed because the backend is `unreachable`, and not
    /// because of the `credential`, the job's next occurrence ends this need.
    case login
    /// A source file that the job file names exists. The job's next occurrence ends this need,
    /// because there may be other work.
    case source

    /// Whether a person has to make the condition hold; the others change by themselves.
    public var isUpToSomebody: Bool {
        switch self {
        case .externalPower, .unmetered: false
        case .login, .source: true
        }
    }
}

/// The machine's conditions that a worker gets when an attempt starts.
///
/// `nil` means that the answer is unknown or does not count: a forced run needs no condition, and a
/// late run no longer needs what its job's `relax` drops.
public struct OrderConditions: Hashable, Sendable {
    /// Whether the connection is metered.
    public var metered: Bool?
    /// Whether the machine runs on external power.
    public var externalPower: Bool?

    /// Creates conditions; a value that is not given is unknown.
    public init(metered: Bool? = nil, externalPower: Bool? = nil) {
        self.metered = metered
        self.externalPower = externalPower
    }
}

// The wire format of orders and reports between the scheduler and a worker process: lines of UTF-8,
// `key=value` or `word rest`, with `\n` and `\\` escaped. Flat values need no document format, and
// a worker can be written in any language, including shell. The code splits lines by scalar, not by
// character: `\r\n` is one character, and so is a `=`, blank or `\` with an accent after it.

/// A line that is not part of an order or a report.
public struct MalformedLine: Error, Hashable, Sendable {
    /// What was expected; never the line itself, which may hold anything.
    public var expected: String
}

extension AttemptOrder {
    /// The order as lines, the last of which is `end`.
    public var lines: [String] {
        var lines = [
            "run=\(run)", "job=\(job)", "kind=\(escapedLine(kind.rawValue))", "attempt=\(attempt)",
            "generation=\(fencingToken)", "scheduled_for_ms=\(scheduledFor.millisecondsSince1970)",
            "timeout_ms=\(timeout.milliseconds)", "warning_ms=\(warning.milliseconds)",
            "memory_limit_bytes=\(memoryLimitBytes)",
        ]
        if let checkpoint { lines.append("checkpoint=\(escapedLine(checkpoint))") }
        if let metered = conditions.metered { lines.append("metered=\(metered)") }
        if let power = conditions.externalPower { lines.append("external_power=\(power)") }
        for (name, value) in options.sorted(by: { $0.key < $1.key }) {
            lines.append("option.\(name)=\(escapedLine(value))")
        }
        return lines + ["end"]
    }

    /// Parses the lines of an order, with or without the final `end`.
    ///
    /// - Throws: `MalformedLine` for a line without `=`, and for a field that is missing, unknown
    ///   or malformed.
    public init(lines: [String]) throws(MalformedLine) {
        var fields: [String: String] = [:]
        var options: [String: String] = [:]
        for line in lines where line != "end" {
            let scalars = line.unicodeScalars
            guard let equals = scalars.firstIndex(of: "=") else {
                throw MalformedLine(expected: "an order line `key=value`")
            }
            let key = String(scalars[..<equals])
            let value = unescapedLine(scalars[scalars.index(after: equals)...])
            if key.hasPrefix("option.") {
                options[String(key.dropFirst("option.".count))] = value
            } else if AttemptOrder.fieldKeys.contains(key) {
                fields[key] = value
            } else {
                throw MalformedLine(expected: "a field of an order before `=`")
            }
        }
        func number<N: FixedWidthInteger>(_ key: String) throws(MalformedLine) -> N {
            guard let text = fields[key], let value = N(text) else {
                throw MalformedLine(expected: "a number for `\(key)`")
            }
            return value
        }
        func flag(_ key: String) throws(MalformedLine) -> Bool? {
            guard let text = fields[key] else { return nil }
            guard let value = Bool(text) else {
                throw MalformedLine(expected: "`true` or `false` for `\(key)`")
            }
            return value
        }
        guard let job = fields["job"].flatMap({ JobID($0) }) else {
            throw MalformedLine(expected: "a job's id for `job`")
        }
        guard let kind = fields["kind"] else {
            throw MalformedLine(expected: "a job kind for `kind`")
        }
        self.init(
            run: RunID(try number("run")), job: job, kind: JobKind(kind),
            attempt: try number("attempt"), fencingToken: try number("generation"),
            scheduledFor: Instant(millisecondsSince1970: try number("scheduled_for_ms")),
            timeout: .milliseconds(try number("timeout_ms") as Int64),
            warning: .milliseconds(try number("warning_ms") as Int64),
            memoryLimitBytes: try number("memory_limit_bytes"), checkpoint: fields["checkpoint"],
            conditions: OrderConditions(
                metered: try flag("metered"), externalPower: try flag("external_power")),
            options: options)
    }

    private static var fieldKeys: Set<String> {
        [
            "run", "job", "kind", "attempt", "generation", "scheduled_for_ms", "timeout_ms",
            "warning_ms", "memory_limit_bytes", "checkpoint", "metered", "external_power",
        ]
    }
}

extension AttemptReport {
    /// The maximum length of a report line, in bytes.
    public static var longestLine: Int { 4096 }

    /// The report as one line, without its newline.
    public var line: String {
        switch self {
        case .progress(let done, let total): "progress \(done) \(total)"
        case .count(let name, let value): "count \(name) \(value)"
        case .fact(let fact):
            "fact \(fact.name) \(fact.at.millisecondsSince1970) "
                + (fact.value.map { String($0) } ?? "-")
        case .note(let text): "note \(escapedLine(text))"
        case .checkpoint(let text): "checkpoint \(escapedLine(text))"
        case .happened(let name): "event \(name.rawValue)"
        case .outcome(.success): "outcome success"
        case .outcome(.retry(let after, let failure)):
            "outcome retry \(after.map { String($0.milliseconds) } ?? "-") \(text(of: failure))"
        case .outcome(.snooze(let after, let failure)):
            "outcome snooze \(after.milliseconds) \(text(of: failure))"
        case .outcome(.awaits(let need, let failure)):
            "outcome awaits \(need.rawValue) \(text(of: failure))"
        case .outcome(.failure(let failure)): "outcome failure \(text(of: failure))"
        }
    }

    private func text(of failure: Failure) -> String {
        "\(failure.category.rawValue) \(escapedLine(failure.reason))"
    }

    /// Parses one line.
    ///
    /// - Throws: `MalformedLine` for every line that `line` does not write.
    public init(line: String) throws(MalformedLine) {
        var rest = line.unicodeScalars[...]
        func word() -> String {
            let end = rest.firstIndex(of: " ") ?? rest.endIndex
            let word = String(rest[..<end])
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
            return word
        }
        func number(_ expected: String) throws(MalformedLine) -> Int64 {
            guard let value = Int64(word()), value >= 0 else {
                throw MalformedLine(expected: expected)
            }
            return value
        }
        func failure() throws(MalformedLine) -> Failure {
            guard let category = Failure.Category(rawValue: word()) else {
                throw MalformedLine(expected: "a failure's category")
            }
            return Failure(category, unescapedLine(rest))
        }
        switch word() {
        case "progress":
            self = .progress(
                done: try number("a count for `done`"), total: try number("a count for `total`"))
        case "count":
            let name = word()
            guard !name.isEmpty, name.utf8.count <= 100 else {
                throw MalformedLine(expected: "a count's name")
            }
            self = .count(name: name, try number("a count after its name"))
        case "fact":
            let name = word()
            guard !name.isEmpty, name.utf8.count <= AttemptFact.longestName else {
                throw MalformedLine(expected: "a fact's name")
            }
            let at = try number("milliseconds after a fact's name")
            let value: Int64? =
                rest.elementsEqual("-".unicodeScalars)
                ? nil : try number("a number or `-` at the end of a fact")
            self = .fact(AttemptFact(name, value, at: Instant(millisecondsSince1970: at)))
        case "note": self = .note(unescapedLine(rest))
        case "checkpoint": self = .checkpoint(unescapedLine(rest))
        case "event":
            guard let name = EventName(rawValue: word()) else {
                throw MalformedLine(expected: "an event's name")
            }
            self = .happened(name)
        case "outcome":
            switch word() {
            case "success": self = .outcome(.success)
            case "retry":
                let after = word()
                let span: Duration? = Int64(after).flatMap { $0 >= 0 ? .milliseconds($0) : nil }
                guard after == "-" || span != nil else {
                    throw MalformedLine(expected: "milliseconds or `-` after `outcome retry`")
                }
                self = .outcome(.retry(after: span, try failure()))
            case "snooze":
                let after = try number("milliseconds after `outcome snooze`")
                self = .outcome(.snooze(after: .milliseconds(after), try failure()))
            case "awaits":
                guard let need = NeededCondition(rawValue: word()) else {
                    throw MalformedLine(expected: "a condition after `outcome awaits`")
                }
                self = .outcome(.awaits(need, try failure()))
            case "failure": self = .outcome(.failure(try failure()))
            default:
                throw MalformedLine(
                    expected: "`success`, `retry`, `snooze`, `awaits` or `failure`")
            }
        default:
            throw MalformedLine(
                expected: "`progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`")
        }
        // Rejects what the cases above let through: extra words, `+1`, `01`, a lone `\`.
        guard self.line == line else {
            throw MalformedLine(expected: "a report as this program writes it")
        }
    }
}

/// Returns a text on one line, with `\n` for a line feed and `\\` for a backslash.
public func escapedLine(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
        case "\n": result.append(contentsOf: "\\n".unicodeScalars)
        default: result.append(scalar)
        }
    }
    return String(result)
}

/// Returns the text that `escapedLine` wrote; drops a backslash before any other character.
public func unescapedLine(_ text: Substring.UnicodeScalarView) -> String {
    var result = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in text {
        if isEscaped {
            result.append(scalar == "n" ? "\n" : scalar)
            isEscaped = false
        } else if scalar == "\\" {
            isEscaped = true
        } else {
            result.append(scalar)
        }
    }
    return String(result)
}
