import ClarityJobs
import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc
import WebAPI

/// The ways in to the pages: of the one person or of whoever looks after the accounts, and of each
/// wearer. Those of a wearer are in the account's own folder and go with it.
struct PageEntrances: Sendable {
    /// The ways in without an account.
    let main: PageAccess
    let hasAccounts: Bool
    private let state: String

    init(stateDirectory: String, hasAccounts: Bool) {
        main = PageAccess(stateDirectory: stateDirectory)
        state = stateDirectory
        self.hasAccounts = hasAccounts
    }

    /// Whether some browser may come in with a password.
    var mayTakePassword: Bool { hasAccounts || main.hasPassword }

    /// Returns who comes in under an account's id, and the ways in; `nil` if nobody can.
    ///
    /// - Parameter account: the id, or an empty text for the ways in without an account.
    func entrance(of account: String) -> (viewer: APIViewer, access: PageAccess)? {
        if account.isEmpty { return (hasAccounts ? .caretaker : .person, main) }
        guard hasAccounts, let id = AccountID(account) else { return nil }
        // An account that was wiped must not get a folder again.
        let folder = StateDirectory.dataFolder(ofAccount: id.rawValue, in: state)
        guard access(folder, F_OK) == 0 else { return nil }
        return (.wearer(id.rawValue), PageAccess(stateDirectory: folder))
    }
}
