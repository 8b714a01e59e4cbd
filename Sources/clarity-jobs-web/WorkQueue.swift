import Platform
import Synchronization

/// For whom work is done.
enum Asker: Hashable {
    /// A person who is logged in, by the account; an empty text without one. Or a token, by its name.
    case person(String)
    /// Somebody who tries a password, by where they are.
    case stranger(String)

    /// How many jobs of one asker wait.
    var mostWaiting: Int { isStranger ? 8 : 32 }

    var isStranger: Bool { if case .stranger = self { true } else { false } }
}

/// Which jobs run and which wait, so that nobody keeps others waiting: a free place goes to who
/// has the fewest jobs running, and among those to who has waited longest.
struct WorkQueue<Job> {
    enum Turn: Hashable { case begins, waits, refused }

    /// How many jobs run at the same time.
    private let mostRunning: Int
    /// How many of them one person has, so that there is a place for another.
    private let mostOfPerson: Int
    /// How many of them all strangers have.
    private let mostOfStrangers = 1
    /// How many jobs of strangers, or of persons, wait.
    private let mostStrangersWaiting = 64
    private let mostPersonsWaiting = 256

    private var running: [Asker: Int] = [:]
    private var waiting: [(asker: Asker, job: Job)] = []

    init(mostRunning: Int = 4, mostOfPerson: Int = 3) {
        (self.mostRunning, self.mostOfPerson) = (mostRunning, mostOfPerson)
    }

    /// Takes a job; it begins at once, waits, or is refused if too many wait.
    mutating func add(_ job: Job, for asker: Asker) -> Turn {
        if mayBegin(asker) {
            running[asker, default: 0] += 1
            return .begins
        }
        let most = asker.isStranger ? mostStrangersWaiting : mostPersonsWaiting
        guard waiting.count(where: { $0.asker == asker }) < asker.mostWaiting,
            waiting.count(where: { $0.asker.isStranger == asker.isStranger }) < most
        else { return .refused }
        waiting.append((asker, job))
        return .waits
    }

    /// Notes the end of a job, and returns the one that begins in its place.
    mutating func end(of asker: Asker) -> (asker: Asker, job: Job)? {
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

    /// Takes back a job that could not begin. What waits begins at another's end.
    mutating func giveUp(_ asker: Asker) {
        let left = (running[asker] ?? 1) - 1
        running[asker] = left == 0 ? nil : left
    }

    private func mayBegin(_ asker: Asker) -> Bool {
        guard running.values.reduce(0, +) < mostRunning else { return false }
        guard asker.isStranger else { return running[asker] ?? 0 < mostOfPerson }
        return running.filter(\.key.isStranger).values.reduce(0, +) < mostOfStrangers
    }
}

/// Runs work that blocks beside the server's thread, a few jobs at the same time and in turns.
final class WorkPool: Sendable {
    private let queue: Mutex<WorkQueue<@Sendable () -> Void>>

    init(mostRunning: Int = 4, mostOfPerson: Int = 3) {
        queue = Mutex(WorkQueue(mostRunning: mostRunning, mostOfPerson: mostOfPerson))
    }

    /// Runs a job on a thread of its own when it is its turn; returns `false` if too many wait.
    func start(for asker: Asker, _ job: @escaping @Sendable () -> Void) -> Bool {
        switch queue.withLock({ $0.add(job, for: asker) }) {
        case .refused: return false
        case .waits: return true
        case .begins: return begin(job, for: asker)
        }
    }

    /// Runs a job and those that follow it.
    private func begin(_ job: @escaping @Sendable () -> Void, for asker: Asker) -> Bool {
        let code = DetachedThread.start { [self] in
            var (asker, job) = (asker, job)
            while true {
                job()
                guard let next = queue.withLock({ $0.end(of: asker) }) else { return }
                (asker, job) = next
            }
        }
        if code != 0 { queue.withLock { $0.giveUp(asker) } }
        return code == 0
    }
}
