import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Logs out: tells the backend, and forgets the session or removes everything that belongs to the
/// user.
///
/// Attempts that run meanwhile are not waited for: each finds at its next write that its time with
/// the store is over (`HealthStore.wipe`).
struct Logout {
    private let flags: AuthFlags

    init(_ flags: AuthFlags) { self.flags = flags }

    func run() async throws -> ExitStatus {
        // Asking for what is not there makes nothing.
        guard HealthStore.exists(in: try flags.value("state")) else { throw APIError.notLoggedIn }
        let store = try AuthMode.store(flags)
        let client = try AuthMode.client(flags, store)
        guard flags.data != .keep else {
            try await client.logout()
            if !flags.isJSON { print("logged out") } else { print(LogoutText.json(nil)) }
            return .done
        }
        guard try store.hasUserData() else {
            // What an earlier logout could not give up is given up now.
            _ = try store.wipe()
            try removeCopies(store)
            throw APIError.notLoggedIn
        }
        if flags.data == .ask, let refusal = try unlessAgreed(store) { return refusal }
        var fault: APIError?
        do throws(APIError) {
            try await client.endSession()
        } catch .notLoggedIn {
            // The session is gone already, and what it left goes now.
        } catch {
            fault = error
        }
        let receipt = try store.wipe()
        try removeCopies(store)
        if flags.isJSON {
            print(LogoutText.json(receipt))
        } else {
            print(LogoutText.lines(receipt).joined(separator: "\n"))
        }
        // The backend was not told, or did not listen: everything here is gone all the same.
        return fault.map { ExitStatus(outcome(of: $0)) } ?? .done
    }

    /// Removes what the state directory has of the same data: its backups, what restores have moved
    /// aside, and what a killed one had made ready. Copies elsewhere are the person's.
    ///
    /// - Parameter store: while it is open no restore makes anything ready.
    private func removeCopies(_ store: HealthStore) throws {
        defer { withExtendedLifetime(store) {} }
        let state = try flags.value("state")
        do throws(BackupError) {
            try BackupFolder(ofState: state).removeAll()
            try Replacement(in: state).removeDraft()
            try Replacement.removeAsides(in: state)
        } catch {
            throw HealthStoreError.copies(error)
        }
    }

    /// Whose data it is; `nil` when nobody knows, or what tells is damaged: that must keep nobody from
    /// removing it.
    private func email(_ store: HealthStore) throws(HealthStoreError) -> String? {
        do throws(HealthStoreError) {
            return try store.sessionRecord()?.email
        } catch {
            guard case .sealing = error else { throw error }
            return nil
        }
    }

    /// How to end when the person does not want it; `nil` when they do.
    private func unlessAgreed(_ store: HealthStore) throws -> ExitStatus? {
        guard let terminal = Terminal() else {
            complain(
                "there is no terminal to ask on whether to remove all data; use --yes to remove it, "
                    + "or --keep-data")
            return .usage
        }
        let question = LogoutText.question(
            email: try email(store), unsent: try store.unsentSamples())
        guard case .line(let answer) = terminal.ask(question, isSecret: false),
            LogoutText.isYes(answer)
        else {
            complain("nothing was done")
            return .failed
        }
        return nil
    }
}
