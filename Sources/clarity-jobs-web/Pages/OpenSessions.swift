import ClarityHost
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import WebAPI
import Synchronization
@preconcurrency import Glibc

/// Who is logged in to the pages: the sessions of the file, which other processes change too.
final class OpenSessions: Sendable {
    /// A browser that is logged in.
    struct Session: Sendable {
        /// The digest of the token, with which nobody can log in.
        let digest: String
        /// A name for the audit log, the beginning of the digest.
        let name: String
        let viewer: APIViewer
        /// What an action has to show, which another site cannot read.
        let csrf: String

        /// For whom commands run, and whose the places of connections are.
        var person: String { viewer.account ?? "" }
    }

    private struct State {
        var stamps = FileStamps()
        var sessions: [String: PageSessions.Entry] = [:]
        /// When the use of a session was last noted, by its digest.
        var noted: [String: Instant] = [:]
    }

    let file: PageSessions
    private let entrances: PageEntrances
    private let state = Mutex(State())

    init(_ file: PageSessions, _ entrances: PageEntrances) {
        (self.file, self.entrances) = (file, entrances)
    }

    /// Returns the session with a token; `nil` if there is none, it has ended, or its account is
    /// gone.
    func session(_ token: String) -> Session? {
        let (now, digest) = (SystemClock().now, PageAccess.digest(token))
        // Nobody can choose the digest of a token, so the time of a search shows nothing.
        guard let session = known(digest, at: now), session.isOpen(at: now) else { return nil }
        let viewer = entrances.viewer(of: session.account)
        guard viewer.name == session.viewer else { return nil }
        if let account = viewer.account, !entrances.hasAccount(account) {
            endAll(of: account)
            return nil
        }
        return Session(
            digest: digest, name: session.name, viewer: viewer,
            csrf: PageAccess.digest("csrf \(token)"))
    }

    /// Whether the time of a session's last use is so old in the file that it is to be noted anew. It
    /// then counts as noted.
    func takeUse(of session: Session) -> Bool {
        let now = SystemClock().now
        return state.withLock { state in
            guard let entry = state.sessions[session.digest],
                now - max(entry.usedAt, state.noted[session.digest] ?? entry.usedAt)
                    >= PageSessions.pace
            else { return false }
            state.noted[session.digest] = now
            return true
        }
    }

    /// Notes that a session is used, which writes a file.
    func use(_ session: Session, from browser: PageSessions.Browser) {
        do throws(BackupError) {
            try file.use(session.digest, from: browser, at: SystemClock().now)
        } catch {
            complain("cannot note the use of a session: \(error)".forReport)
        }
    }

    /// Ends the session with a token.
    func end(_ token: String) throws(BackupError) {
        let digest = PageAccess.digest(token)
        _ = try file.end(at: SystemClock().now) { $0.digest == digest }
    }

    /// Ends the sessions of an account that is gone, so that one of the same id has none.
    private func endAll(of account: String) {
        do throws(BackupError) {
            _ = try file.end(at: SystemClock().now) { $0.account == account }
        } catch {
            complain("cannot end a session: \(error)".forReport)
        }
    }

    /// Returns the session with a digest, as the file has it now: other processes begin and end
    /// sessions too.
    private func known(_ digest: String, at now: Instant) -> PageSessions.Entry? {
        var stamps = FileStamps()
        stamps.add(file.path)
        return state.withLock { state in
            if state.stamps.bytes != stamps.bytes || !state.stamps.areSettled {
                state.stamps = stamps
                state.sessions = read(at: now)
                state.noted = state.noted.filter { state.sessions[$0.key] != nil }
            }
            return state.sessions[digest]
        }
    }

    private func read(at now: Instant) -> [String: PageSessions.Entry] {
        do throws(BackupError) {
            return Dictionary(
                try file.list(at: now).map { ($0.digest, $0) }, uniquingKeysWith: { $1 })
        } catch {
            // Who cannot be known is not logged in.
            complain("the sessions of the pages cannot be read: \(error)".forReport)
            return [:]
        }
    }
}

/// The ways in to the pages: of the one person or of whoever looks after the accounts, and of each
/// wearer. A wearer's password is in the account's own folder and goes with it.
final class PageEntrances: Sendable {
    let hasAccounts: Bool
    private let state: String
    private let jobFile: String
    private let reader: JobFileReader
    private let declared = Mutex(Declared())

    /// The accounts of the job file, as they were when it was read.
    private struct Declared {
        var stamps = FileStamps()
        /// The folder with a file for each account, if the job file names one.
        var folder: String?
        /// The accounts that the job file itself lists.
        var listed: Set<String> = []
    }

    init(
        jobFile: String, stateDirectory: String, hasAccounts: Bool, environment: [String: String]
    ) {
        (self.jobFile, state, self.hasAccounts) = (jobFile, stateDirectory, hasAccounts)
        var catalogue = clarityCatalogue
        catalogue.kinds.append(.command)
        var reader = JobFileReader(
            catalogue: catalogue, environment: environment, workingDirectory: "/")
        reader.skipsAccountFiles = true
        reader.holdsFaulty = true
        self.reader = reader
    }

    /// The ways in without an account.
    var main: PageAccess { PageAccess(stateDirectory: state) }

    /// Whether some browser may log in with a password.
    var mayTakePassword: Bool { hasAccounts || main.hasPassword }

    /// Returns the ways in under an account's id, whether there is such an account or not; `nil` if
    /// it is no id.
    ///
    /// - Parameter account: the id, or an empty text for the ways in without an account.
    func access(of account: String) -> PageAccess? {
        if account.isEmpty { return main }
        guard hasAccounts, let id = AccountID(account) else { return nil }
        return PageAccess(stateDirectory: state, account: id.rawValue)
    }

    /// Returns who logs in under an account's id.
    func viewer(of account: String?) -> APIViewer {
        guard let account, !account.isEmpty else { return hasAccounts ? .caretaker : .person }
        return .wearer(account)
    }

    /// Whether the job file has an account of this id now. A job file with a fault counts as it was
    /// before.
    func hasAccount(_ id: String) -> Bool {
        var stamps = FileStamps()
        stamps.add(jobFile)
        return declared.withLock { known in
            if known.stamps.bytes != stamps.bytes || !known.stamps.areSettled {
                known.stamps = stamps
                readAccounts(into: &known)
            }
            guard let folder = known.folder else { return known.listed.contains(id) }
            return Glibc.access("\(folder)/\(id).yaml", F_OK) == 0
        }
    }

    private func readAccounts(into known: inout Declared) {
        do throws(JobFileFaults) {
            let file = try reader.read(fileAt: jobFile)
            known.folder = file.accountsFolder
            known.listed = Set((file.accounts ?? []).map(\.id.rawValue))
        } catch {
            complain("the job file has an error; see `clarity-jobs validate`")
        }
    }
}
