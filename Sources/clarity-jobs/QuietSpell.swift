import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// What a `run --due` that found nothing to do leaves in the state directory for the next ones:
/// until when nothing is due, and a digest of everything on which that depends. These read neither
/// the job file nor the history.
///
/// A spell must never hide a run. A run starts for one of these reasons:
///
/// | reason | how it ends the spell |
/// |---|---|
/// | an occurrence is due, or a window of `flex` opens | the spell ends then (`Plan.wakeAfter`) |
/// | a run waits, or a window of `flex` is open | there is no spell meanwhile |
/// | a command or a loop enqueued a run, or a backup was restored | stamps of the history's files |
/// | the job file or an account's file has changed | their stamps, and the list of accounts |
/// | a source has changed (`on: source-changed`) | its fingerprint, as the planner sees it |
/// | the machine has started (`on: boot`) | the kernel's id of the boot |
/// | the clock was set | the spell's beginning and end |
/// | the time zone, a zone's rules or the identity of the machine has changed | `TZ`, `TZDIR` and the stamps of their files |
/// | another version decides otherwise | the program's version and its file's stamp |
/// | options or variables name other files | the words in the digest |
///
/// Only running schedulers hear of other events, and they enqueue runs. A history on a server changes
/// no file, and a `metrics_textfile` is written each time: with these there is no spell.
struct QuietSpell {
    /// The longest time without a look at everything.
    static let longest = Duration.seconds(3600)
    private static let mostBytes = 1 << 20
    /// The variables on which the places and the meaning of the files depend.
    private static let variables = ["HOME", "STATE_DIRECTORY", "TZ", "TZDIR", "XDG_STATE_HOME"]

    private let path: String
    private let digest: String
    /// The folder of accounts, or nothing, and the sources: what only the job file says.
    private let places: [String]
    private let isSettled: Bool

    /// Returns the state directory if nothing has changed since a `run --due` found nothing to do,
    /// and nothing is due yet; `nil` if everything has to be looked at.
    static func state(_ composition: Composition) -> String? {
        guard composition.arguments["account"] == nil else { return nil }
        let jobFile = composition.foundJobFilePath
        let state = likelyState(composition, jobFile)
        // Another user's folder proves nothing.
        guard !jobFile.isEmpty, StateDirectory.otherOwner(of: state) == nil else { return nil }
        let text: String?
        do throws(BackupError) {
            text = try DurableFile.text(of: path(in: state), atMost: mostBytes)
        } catch {
            return nil
        }
        let lines = (text ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        let words = lines.first?.split(separator: " ") ?? []
        let now = composition.clock.now
        guard words.count == 3, lines.count > 1, let since = Instant(rfc3339: String(words[1])),
            let end = Instant(rfc3339: String(words[2])), since <= now, now < end,
            end - since <= longest
        else { return nil }
        var stamps = FileStamps()
        let places = lines.dropFirst().map { String($0) }
        let digest = QuietSpell.digest(composition, jobFile, state, places, &stamps)
        return digest.map { $0 == words[0] } == true ? state : nil
    }

    /// Takes the stamps of everything on which the decision depends that follows; `nil` if there can
    /// be no spell.
    ///
    /// - Parameter stamps: a list that was created before the job file was read.
    init?(_ composition: Composition, _ file: JobFile, _ stamps: FileStamps) {
        guard composition.arguments["account"] == nil, file.heldFaults.isEmpty,
            file.server == nil, file.metricsTextfile == nil
        else { return nil }
        let jobFile = composition.foundJobFilePath
        // A pipe is read once only.
        var status = stat()
        guard stat(jobFile, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let hearsSources = file.distinctJobs.contains { $0.events.contains(.sourceChanged) }
        let sources =
            hearsSources ? Set(file.groupedSections.flatMap(\.sourcePaths)).sorted() : []
        places = [file.accountsFolder ?? ""] + sources
        let state = composition.statePath(file)
        var stamps = stamps
        guard !places.contains(where: { $0.utf8.contains(UInt8(ascii: "\n")) }),
            let digest = QuietSpell.digest(composition, jobFile, state, places, &stamps)
        else { return nil }
        path = QuietSpell.path(in: state)
        self.digest = digest
        isSettled = stamps.areSettled
    }

    /// Leaves what was found at `now`, after this was made: that nothing is to be done until
    /// `wakeAfter` has passed.
    func leave(at now: Instant, wakeAfter: Duration?) {
        // A file that has just changed may change again without another time.
        guard isSettled else { return }
        let end = now + min(wakeAfter ?? QuietSpell.longest, QuietSpell.longest)
        let lines = ["\(digest) \(now) \(end)"] + places
        do throws(BackupError) {
            try DurableFile.replace(path, by: lines.joined(separator: "\n"), lasts: false)
        } catch {
            // The next one looks at everything again, as this one did.
        }
    }

    private static func path(in state: String) -> String { "\(state)/quiet" }

    /// Returns a digest of everything on which a decision depends but the clock; `nil` if the
    /// accounts cannot be listed.
    private static func digest(
        _ composition: Composition, _ jobFile: String, _ state: String, _ places: [String],
        _ stamps: inout FileStamps
    ) -> String? {
        let (accounts, sources) = (places.first ?? "", Array(places.dropFirst()))
        let files =
            [
                jobFile, ValidJobFile(inState: state).path, "\(state)/history.db",
                "\(state)/history.db-wal", "/proc/self/exe", "/etc/machine-id",
                composition.zones.directory,
            ] + composition.localZonePaths
        for file in files { stamps.add(file) }
        if !accounts.isEmpty {
            stamps.add(accounts)
            guard stamps.addAccounts(in: accounts) else { return nil }
        }
        var words = [
            programVersion, SystemClock().boot ?? "", composition.arguments["state"] ?? "",
        ]
        words += variables.map { composition.environment[$0] ?? "" }
        if !sources.isEmpty {
            let monitor = HostConditions(stateDirectory: state)
            let seen = FileWatch(paths: [], folders: sources).fingerprints(where: monitor.isThere)
            for source in sources {
                words.append(source)
                guard let found = seen[source] else { continue }
                words.append("\(found.isFolder) \(found.files) \(found.newestChange)")
            }
        }
        return contentDigest(stamps.bytes + Array(words.joined(separator: "\n").utf8))
    }

    /// Returns where a spell is if there is one. If neither an option nor a variable names the state
    /// directory, the job file may: its text is searched for a line that seems to. In a folder that
    /// is not this job file's, no spell has the digest.
    private static func likelyState(_ composition: Composition, _ jobFile: String) -> String {
        guard composition.arguments["state"] == nil,
            composition.environment["STATE_DIRECTORY"] == nil
        else { return composition.statePath(named: nil) }
        let bytes: [UInt8]
        do throws(WholeFile.Fault) {
            bytes = try WholeFile.bytes(of: jobFile, atMost: mostBytes, flags: O_NONBLOCK)
        } catch {
            return composition.statePath(named: nil)
        }
        let key = "directory:".utf8
        let line = bytes.split(separator: UInt8(ascii: "\n")).lazy
            .map { $0.drop { $0 == UInt8(ascii: " ") } }.first { $0.starts(with: key) }
        let value = line.map { String(decoding: $0.dropFirst(key.count), as: UTF8.self) } ?? ""
        let word = value.split { " \"'".contains($0) }.first.map { String($0) } ?? ""
        guard !word.isEmpty else { return composition.statePath(named: nil) }
        let folder = jobFile[..<(jobFile.lastIndex(of: "/") ?? jobFile.startIndex)]
        let path = composition.expanded(word)
        return composition.statePath(
            named: PlainPath.shortest(path.hasPrefix("/") ? path : "\(folder)/\(path)"))
    }
}
