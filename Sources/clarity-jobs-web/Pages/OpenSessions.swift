import ClarityHost
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import Synchronization
import WebAPI

/// Who has come in to the pages: the sessions of the file, which other processes change too.
final class OpenSessions: Sendable {
    /// A browser that has come in.
    struct Session: Sendable {
        /// A name for the audit log, with which nobody can come in.
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
            name: session.name, viewer: viewer, csrf: PageAccess.digest("csrf \(token)"))
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
            }
            return state.sessions[digest]
        }
    }

    private func read(at now: Instant) -> [String: PageSessions.Entry] {
        do throws(BackupError) {
            return Dictionary(
                try file.list(at: now).map { ($0.digest, $0) }, uniquingKeysWith: { $1 })
        } catch {
            // Who cannot be known has not come in.
            complain("the sessions of the pages cannot be read: \(error)".forReport)
            return [:]
        }
    }
}
