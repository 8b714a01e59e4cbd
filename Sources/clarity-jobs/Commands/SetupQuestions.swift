import Platform
@preconcurrency import Glibc

/// Asks the questions of `init`, and keeps each answer until the setup has ended.
///
/// An answer is that of an option, or else of an earlier `init` that did not end, or else what the
/// person types. What is typed is checked, and asked for again if it has a fault.
struct SetupQuestions {
    private let arguments: Arguments
    /// Whether nobody is asked: options and usual answers must do.
    let isUnattended: Bool
    private(set) var memory: SetupMemory
    /// What an earlier `init` kept, for people.
    private let earlier: [(String, String)]
    /// Whether remembered answers count; `nil` until the person has said so.
    private var goesOn: Bool?
    private let say: (String) -> Void
    private var number = 0
    /// What is known without a question.
    private var taken: [String: String] = [:]
    /// How many questions there are, once that is known.
    var count: Int?
    /// Whether the person wants to see the web pages when everything is set up.
    var opensPages = false

    /// - Parameter goesOn: whether remembered answers count without a question.
    init(
        _ arguments: Arguments, isUnattended: Bool, _ memory: SetupMemory, goesOn: Bool,
        _ say: @escaping (String) -> Void
    ) {
        self.arguments = arguments
        self.isUnattended = isUnattended
        self.memory = memory
        earlier = memory.shown
        self.goesOn = goesOn ? true : isUnattended ? false : nil
        self.say = say
    }

    /// Returns the answer to a question, once it has no fault.
    ///
    /// - Parameters:
    ///   - option: the option that answers the question, and the name under which it is kept.
    ///   - isAsked: whether the person is asked whatever is known, because that was wrong.
    ///   - typedFault: returns what is wrong with an answer that was typed; without it, `fault`.
    /// - Throws: `CommandFailure` if an option has a fault, or nobody can be asked.
    mutating func answer(
        _ option: String, _ question: String, _ usual: String?, again isAsked: Bool = false,
        typedFault: ((String) -> String?)? = nil, _ fault: (String) -> String?
    ) throws(CommandFailure) -> String {
        number += isAsked ? 0 : 1
        if !isAsked, let known = try known(option, fault) { return known }
        guard !isUnattended else {
            guard let usual else { throw CommandFailure(.usage, "`init --yes` wants --\(option)") }
            memory.keep(option, usual)
            return usual
        }
        let terminal = try terminal()
        let offered = isAsked ? usual : memory[option] ?? usual
        let isLater = isAsked && number == count
        let place = isLater ? "" : count.map { "[\(number)/\($0)] " } ?? ""
        while true {
            let hint = offered.map { " [\($0)]" } ?? ""
            guard
                case .line(let bytes) = terminal.ask(
                    "\(place)\(question)\(hint): ", isSecret: false)
            else { throw CommandFailure(.interrupted, "nothing was set up") }
            let words = String(decoding: bytes, as: UTF8.self)
            let typed = words.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
            let text = typed.isEmpty ? offered ?? "" : typed
            guard let fault = typedFault?(text) ?? fault(text) else {
                try keep(option, text)
                return text
            }
            say("  \(fault)")
        }
    }

    /// Asks for one of several words.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: String, _ question: String, _ usual: Choice, again isAsked: Bool = false,
        typedFault: ((String) -> String?)? = nil
    ) throws(CommandFailure) -> Choice {
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        let word = try answer(
            option, "\(question) (\(names))", usual.rawValue, again: isAsked, typedFault: typedFault
        ) { Choice(rawValue: $0) == nil ? "write one of: \(names)" : nil }
        return Choice(rawValue: word) ?? usual
    }

    /// Asks whether to do something; `false` if nobody can be asked.
    func agrees(to question: String, usually isUsual: Bool = false) -> Bool {
        guard !isUnattended, let terminal = Terminal() else { return false }
        guard isUsual else { return terminal.agrees(to: "\(question) [y/N] ") }
        guard case .line(let bytes) = terminal.ask("\(question) [Y/n] ", isSecret: false) else {
            return false
        }
        let word = String(decoding: bytes, as: UTF8.self).lowercased().filter { $0 != " " }
        return word.isEmpty || word == "y" || word == "yes"
    }

    /// Takes an answer that follows from something else.
    mutating func take(_ name: String, _ value: String) {
        taken[name] = value
        memory.keep(name, value)
    }

    /// Returns whether a question is answered already.
    mutating func knows(_ name: String) -> Bool {
        arguments[name] != nil || taken[name] != nil || memory[name] != nil && isGoingOn()
    }

    /// Whether an earlier `init` has created the account.
    var isRegistered: Bool { goesOn != false && memory[SetupMemory.registered] != nil }

    /// Keeps an answer for the next `init`, should this one not end.
    mutating func keep(_ name: String, _ value: String) throws(CommandFailure) {
        memory.keep(name, value)
        if !isUnattended { try memory.save() }
    }

    /// Returns the answer of the option, or that of an earlier `init`.
    private mutating func known(
        _ option: String, _ fault: (String) -> String?
    ) throws(CommandFailure) -> String? {
        if let given = arguments[option] {
            if let fault = fault(given) {
                throw CommandFailure(.usage, "--\(option) `\(given.printable)`: \(fault)")
            }
            memory.keep(option, given)
            return given
        }
        if let value = taken[option] { return value }
        guard let kept = memory[option], fault(kept) == nil, isGoingOn() else { return nil }
        return kept
    }

    /// Whether the answers of an earlier `init` count; asks the person once.
    private mutating func isGoingOn() -> Bool {
        if let goesOn { return goesOn }
        say("An earlier `init` did not end. Its answers:")
        for (name, value) in earlier { say("  \(name): \(value.printable)") }
        let answer = agrees(to: "Go on with them?", usually: true)
        goesOn = answer
        return answer
    }

    private func terminal() throws(CommandFailure) -> Terminal {
        guard let terminal = Terminal() else {
            throw CommandFailure(
                .usage, "`init` has no terminal to ask on",
                "help: give the answers as options, with --yes")
        }
        return terminal
    }
}

/// The answers of an `init` that has not ended, in a file beside the job file. No password is among
/// them.
struct SetupMemory {
    /// The most bytes of the file that are read.
    private static let limit = 64 << 10
    private static let heading =
        "# The answers of a `clarity-jobs init` that has not ended. It goes on with them."

    let path: String
    private var answers: [String: String] = [:]

    /// Reads what was kept for a job file; nothing if that cannot be read.
    init(for jobFile: String) {
        path = "\(jobFile).answers"
        do throws(WholeFile.Fault) {
            let bytes = try WholeFile.bytes(of: path, atMost: SetupMemory.limit, flags: O_NOFOLLOW)
            for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
                let parts = line.split(separator: " ", maxSplits: 1)
                if parts.count == 2, parts[0] != "#" {
                    answers[String(parts[0])] = String(parts[1])
                }
            }
        } catch {
            // Nothing is kept: each question is asked.
        }
    }

    var isEmpty: Bool { answers.isEmpty }

    /// The answers that a person gave, in a fixed order.
    var shown: [(String, String)] {
        answers.filter { $0.key != SetupMemory.registered }.sorted { $0.key < $1.key }
            .map { ($0.key, $0.value) }
    }

    /// What is kept once an account was created.
    static let registered = "registered"

    subscript(name: String) -> String? { answers[name] }

    mutating func keep(_ name: String, _ value: String) {
        // A line is an answer.
        guard !value.isEmpty, !value.contains("\n") else { return }
        answers[name] = value
    }

    /// Writes the file, which only this user may read.
    func save() throws(CommandFailure) {
        let lines = answers.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        let text = "\(SetupMemory.heading)\n\(lines.joined())"
        try JobFileDraft(text).publish(as: path, replacing: true)
    }

    /// Removes the file; an end without one is no fault.
    func remove() { unlink(path) }
}
