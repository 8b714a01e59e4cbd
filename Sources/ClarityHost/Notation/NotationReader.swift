import ClarityScheduler
import JSON

/// One JSON value, read as the engine's values; `name` is what messages call it.
struct NotationReader {
    let value: JSON
    let name: String

    init(_ value: JSON, _ name: String) {
        self.value = value
        self.name = name
    }

    /// The members of an object.
    func members() throws(NotationFault) -> [(name: String, value: NotationReader)] {
        guard case .object(let members) = value else { throw unexpected("an object") }
        return members.map { ($0.name, NotationReader($0.value, "\(name).\($0.name)")) }
    }

    /// A member; `nil` where there is none.
    subscript(member: String) -> NotationReader? {
        value[member].map { NotationReader($0, "\(name).\(member)") }
    }

    /// A member that must be there.
    func member(_ member: String) throws(NotationFault) -> NotationReader {
        guard let found = self[member] else { throw .missing(name: "\(name).\(member)") }
        return found
    }

    /// The elements of an array, of which there must be `count` where it is given.
    func elements(_ count: Int? = nil) throws(NotationFault) -> [NotationReader] {
        guard case .array(let values) = value, count.map({ $0 == values.count }) ?? true else {
            throw unexpected(count.map { "an array of \($0)" } ?? "an array")
        }
        return values.enumerated().map { NotationReader($1, "\(name)[\($0)]") }
    }

    var isNull: Bool { value == .null }

    func flag() throws(NotationFault) -> Bool {
        guard case .bool(let flag) = value else { throw unexpected("true or false") }
        return flag
    }

    func integer() throws(NotationFault) -> Int64 {
        guard case .integer(let number) = value else { throw unexpected("a whole number") }
        return number
    }

    func text() throws(NotationFault) -> String {
        guard case .string(let text) = value else { throw unexpected("a string") }
        return text
    }

    // MARK: The engine's values

    func count() throws(NotationFault) -> Int { Int(try integer()) }

    func instant() throws(NotationFault) -> Instant {
        Instant(millisecondsSince1970: try integer())
    }

    func span() throws(NotationFault) -> Duration {
        if case .integer(let nanoseconds) = value { return .nanoseconds(nanoseconds) }
        let parts = try elements(2)
        return Duration(
            secondsComponent: try parts[0].integer(), attosecondsComponent: try parts[1].integer())
    }

    func run() throws(NotationFault) -> RunID { RunID(try integer()) }

    func job() throws(NotationFault) -> JobID {
        guard let job = JobID(try text()) else { throw unexpected("a job's name") }
        return job
    }

    /// A case of an enumeration, by its raw value.
    func choice<Choice: RawRepresentable<String>>() throws(NotationFault) -> Choice {
        guard let choice = Choice(rawValue: try text()) else { throw unexpected("a known word") }
        return choice
    }

    /// A case of an enumeration; `standard` where there is nothing to read.
    static func choice<Choice: RawRepresentable<String>>(
        _ reader: NotationReader?, standard: Choice
    ) throws(NotationFault) -> Choice {
        guard let reader else { return standard }
        return try reader.choice()
    }

    func list<Element>(
        _ read: (NotationReader) throws(NotationFault) -> Element
    ) throws(NotationFault) -> [Element] {
        var list: [Element] = []
        for element in try elements() { list.append(try read(element)) }
        return list
    }

    func texts() throws(NotationFault) -> [String] {
        try list { element throws(NotationFault) in try element.text() }
    }

    func runs() throws(NotationFault) -> [RunID] {
        try list { element throws(NotationFault) in try element.run() }
    }

    func jobs() throws(NotationFault) -> [JobID] {
        try list { element throws(NotationFault) in try element.job() }
    }

    func tally() throws(NotationFault) -> Tally {
        var tally = Tally()
        for (name, count) in try members() { tally[name] = try count.integer() }
        return tally
    }

    func failure() throws(NotationFault) -> Failure {
        let parts = try elements(2)
        return Failure(try parts[0].choice(), try parts[1].text())
    }

    /// A run's number as the name of a member.
    static func run(named name: String) throws(NotationFault) -> RunID {
        guard let number = Int64(name) else {
            throw .unexpected(name: name, got: name, wanted: "a run's number")
        }
        return RunID(number)
    }

    func unexpected(_ wanted: String) -> NotationFault {
        .unexpected(name: name, got: value.line, wanted: wanted)
    }
}
