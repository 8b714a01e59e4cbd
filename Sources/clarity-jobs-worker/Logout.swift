import HealthModel
import Backend
import HealthStore
import Reports
import ClarityScheduler
import Platform
import ClarityJobs
import JSON

/// Logs out: informs the backend, and forgets the session or removes everything that belongs to the
/// user.
///
/// It does not wait for attempts that run meanwhile. At its next write, each of them finds that it
/// may no longer write to the store (`HealthStore.wipe`).
struct Logout {
    private let flags: Flags
    private let order: AttemptOrder

    init(_ flags: Flags, _ order: AttemptOrder) { (self.flags, self.order) = (flags, order) }

    func run() async throws -> ExitStatus {
        // A logout without a store creates none.
        let state = try order.sections.state.directory
        guard HealthStore.exists(in: state, environment: try keyEnvironment(for: order)) else {
            throw APIError.notLoggedIn
        }
        let store = try AuthMode.store(order)
        let client = try AuthMode.client(order, store)
        guard let data = flags["data"], data != "keep" else {
            try await client.logout()
            flags.format.print(LogoutResult(nil).object) { ["logged out"] }
            return .done
        }
        guard try store.hasUserData() else {
            // Removes what an earlier logout could not remove.
            _ = try store.wipe()
            try removeCopies(store)
            throw APIError.notLoggedIn
        }
        if data == "ask", let refusal = try unlessAgreed(store) { return refusal }
        var fault: APIError?
        do throws(APIError) {
            try await client.endSession()
        } catch .notLoggedIn {
            // The session has already ended; what it left is removed below.
        } catch {
            fault = error
        }
        let receipt = try store.wipe()
        try removeCopies(store)
        flags.format.print(LogoutResult(receipt).object) { LogoutText.lines(receipt) }
        // The backend was not informed, or refused; all data on this machine is gone nevertheless.
        return fault.map { ExitStatus(outcome(of: $0)) } ?? .done
    }

    /// Removes the other copies of the data in the state directory: its backups, the files that
    /// restores have moved aside, and the draft of a killed restore. Copies elsewhere are left to
    /// the person.
    ///
    /// - Parameter store: an open store, which keeps restores from making a new draft.
    private func removeCopies(_ store: HealthStore) throws {
        defer { withExtendedLifetime(store) {} }
        let state = try order.sections.state.directory
        do throws(BackupError) {
            try BackupFolder(ofState: state).removeAll()
            try Replacement(in: state).removeDraft()
            try Replacement.removeAsides(in: state)
        } catch {
            throw HealthStoreError.copies(error)
        }
    }

    /// Returns the address of the account; `nil` if it is unknown or its record is damaged. Damage
    /// must not keep anybody from removing the data.
    private func email(_ store: HealthStore) throws(HealthStoreError) -> String? {
        do throws(HealthStoreError) {
            return try store.sessions.record()?.email
        } catch {
            guard case .sealing = error else { throw error }
            return nil
        }
    }

    /// Returns the exit status if the person does not agree; `nil` if they do.
    private func unlessAgreed(_ store: HealthStore) throws -> ExitStatus? {
        guard let terminal = Terminal() else {
            complain(
                "there is no terminal to ask on whether to remove all data; use --yes to remove it, "
                    + "or --keep-data")
            return .usage
        }
        let question = LogoutText.question(
            email: try email(store), unsent: try store.outbox.unsentCount())
        guard terminal.agrees(to: question) else {
            complain("nothing was done")
            return .failed
        }
        return nil
    }
}
