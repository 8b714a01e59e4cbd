/// For whom a command runs.
enum CommandAsker: Hashable {
    /// A person who has come in, by the account; an empty text without one.
    case person(String)
    /// Somebody who tries a password, by where they are.
    case stranger(String)

    /// How many commands of one asker wait.
    var mostWaiting: Int { isStranger ? 8 : 32 }

    var isStranger: Bool { if case .stranger = self { true } else { false } }
}

/// Which commands run and which wait, so that nobody keeps others waiting: a free place goes to who
/// has the fewest commands running, and among those to who has waited longest.
struct CommandQueue<Job> {
    /// How many commands run at the same time.
    static var mostRunning: Int { 4 }
    /// How many of them one person has, so that there is a place for another.
    static var mostOfPerson: Int { 3 }
    /// How many of them all strangers have.
    static var mostOfStrangers: Int { 1 }
    /// How many commands of strangers, or of persons, wait.
    static var mostStrangersWaiting: Int { 64 }
    static var mostPersonsWaiting: Int { 256 }

    enum Turn: Hashable { case begins, waits, refused }

    private var running: [CommandAsker: Int] = [:]
    private var waiting: [(asker: CommandAsker, job: Job)] = []

    /// Takes a command; it begins at once, waits, or is refused if too many wait.
    mutating func add(_ job: Job, for asker: CommandAsker) -> Turn {
        if mayBegin(asker) {
            running[asker, default: 0] += 1
            return .begins
        }
        let most =
            asker.isStranger
            ? Self.mostStrangersWaiting : Self.mostPersonsWaiting
        guard waiting.count(where: { $0.asker == asker }) < asker.mostWaiting,
            waiting.count(where: { $0.asker.isStranger == asker.isStranger }) < most
        else { return .refused }
        waiting.append((asker, job))
        return .waits
    }

    /// Notes the end of a command, and returns the one that begins in its place.
    mutating func end(of asker: CommandAsker) -> (asker: CommandAsker, job: Job)? {
        giveUp(asker)
        // The first of those with the same number has waited longest.
        let next = waiting.indices.filter { mayBegin(waiting[$0].asker) }.min { one, other in
            running[waiting[one].asker] ?? 0 < running[waiting[other].asker] ?? 0
        }
        guard let next else { return nil }
        let begun = waiting.remove(at: next)
        running[begun.asker, default: 0] += 1
        return begun
    }

    /// Takes back a command that could not begin. What waits begins at another's end.
    mutating func giveUp(_ asker: CommandAsker) {
        let left = (running[asker] ?? 1) - 1
        running[asker] = left == 0 ? nil : left
    }

    private func mayBegin(_ asker: CommandAsker) -> Bool {
        guard running.values.reduce(0, +) < Self.mostRunning else { return false }
        guard asker.isStranger else {
            return running[asker] ?? 0 < Self.mostOfPerson
        }
        return running.filter(\.key.isStranger).values.reduce(0, +) < Self.mostOfStrangers
    }
}
