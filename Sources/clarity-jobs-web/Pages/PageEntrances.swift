import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Synchronization
import WebAPI

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
        self.reader = reader
    }

    /// The ways in without an account.
    var main: PageAccess { PageAccess(stateDirectory: state) }

    /// Whether some browser may come in with a password.
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

    /// Returns who comes in under an account's id.
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
