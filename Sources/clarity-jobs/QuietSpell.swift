import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// What a `run --due` that found nothing to do leaves in the state directory for the next ones:
/// until when nothing is due, and a digest of everything on which that depends. Without it, each
/// would read the files of thousands of accounts to find the same.
///
/// It is left only for a folder with many accounts, all of whose jobs start by the clock alone, and
/// only while no run is open. Whatever changes an account, the job file or the history changes the
/// digest.
struct QuietSpell {
    /// The number of accounts from which on it is worth a file.
    static let leastAccounts = 100
    /// The longest time without a look at everything.
    static let longest = Duration.seconds(3600)

    /// The job file, without its accounts.
    let file: JobFile
    private let path: String
    private let digest: String
    private let isSettled: Bool

    /// Looks at everything; `nil` if there can be no such file, or the job file has a fault.
    init?(_ composition: Composition) {
        guard composition.arguments["account"] == nil else { return nil }
        var stamps = FileStamps()
        do {
            let jobFile = try composition.jobFilePath()
            guard try QuietSpell.mayNameAccounts(jobFile) else { return nil }
            stamps.add(composition.absolute(jobFile))
            var reader = composition.jobFileReader
            reader.skipsAccountFiles = true
            file = try reader.read(fileAt: jobFile)
        } catch {
            // Whoever reads all of it reports the fault.
            return nil
        }
        // What others write into a database changes no file here.
        guard let folder = file.accountsFolder, file.metricsTextfile == nil, file.server == nil,
            QuietSpell.startByTheClock(file.enabledJobs),
            let count = stamps.addAccounts(in: folder), count >= QuietSpell.leastAccounts
        else { return nil }
        let state = composition.statePath(file)
        for name in ["history.db", "history.db-wal"] { stamps.add("\(state)/\(name)") }
        let words = [
            programVersion, SystemClock().boot ?? "", composition.environment["TZ"] ?? "",
        ]
        path = "\(state)/quiet"
        digest = contentDigest(stamps.bytes + Array(words.joined(separator: "\n").utf8))
        isSettled = stamps.areSettled
    }

    /// Whether nothing has changed since a look that found nothing to do, and nothing is due yet.
    func holds(at now: Instant) -> Bool {
        let text: String?
        do throws(BackupError) {
            text = try DurableFile.text(of: path, atMost: 4096)
        } catch {
            return false
        }
        let words = text?.split(whereSeparator: \.isWhitespace) ?? []
        guard words.count == 3, words[0] == digest, let since = Instant(rfc3339: String(words[1])),
            let end = Instant(rfc3339: String(words[2]))
        else { return false }
        return since <= now && now < end && end - since <= QuietSpell.longest
    }

    /// Leaves what was found at `now`, after this was made: that nothing is to be done until
    /// `wakeAfter` has passed.
    func leave(_ jobs: [Job], at now: Instant, wakeAfter: Duration?) {
        // A file that has just changed may change again without another time.
        guard isSettled, QuietSpell.startByTheClock(jobs) else { return }
        let end = now + min(wakeAfter ?? QuietSpell.longest, QuietSpell.longest)
        do throws(BackupError) {
            try DurableFile.replace(path, by: "\(digest) \(now) \(end)\n")
        } catch {
            // The next one looks at everything again, as this one did.
        }
    }

    /// Whether a job file has the word `accounts`, so that most are not parsed twice. A pipe can be
    /// read once only, and is left to whoever reads all of it.
    private static func mayNameAccounts(_ path: String) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return try DurableFile.text(of: path, atMost: 4 << 20)?.contains("accounts") ?? false
    }

    private static func startByTheClock(_ jobs: [Job]) -> Bool {
        jobs.allSatisfy { $0.events.isEmpty && ($0.schedule?.flex ?? .zero) == .zero }
    }
}
