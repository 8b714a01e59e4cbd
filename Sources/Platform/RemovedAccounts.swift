@preconcurrency import Glibc

// Accounts whose data was removed. A receipt of each stays, and while it is there nothing makes the
// account's folder again: neither an attempt that began before, nor another person's account with
// the same id.
extension StateDirectory {
    /// Returns the path of the receipt of an account whose data was removed.
    public static func receipt(ofAccount account: String, in path: String) -> String {
        "\(receipts(in: path))/\(account).json"
    }

    /// Returns the folder with the receipts of removed accounts.
    ///
    /// No id of an account begins with a dot.
    public static func receipts(in path: String) -> String { "\(path)/\(accountsName)/.removed" }

    /// Returns the accounts that have a folder, and those that have a receipt.
    ///
    /// - Throws: `StateDirectoryError` if a folder cannot be read; one that is missing is empty.
    public static func accounts(
        in path: String
    ) throws(StateDirectoryError) -> (kept: Set<String>, removed: Set<String>) {
        let kept = try names(in: "\(path)/\(accountsName)").filter { !$0.hasPrefix(".") }
        let removed = try names(in: receipts(in: path)).filter { $0.hasSuffix(".json") }
        return (Set(kept), Set(removed.map { String($0.dropLast(".json".count)) }))
    }

    private static func names(in folder: String) throws(StateDirectoryError) -> [String] {
        do throws(WholeFile.Fault) {
            return try WholeFile.names(in: folder)
        } catch .refused(ENOENT) {
            return []
        } catch .refused(let code) {
            throw StateDirectoryError(path: folder, errno: code)
        } catch {
            throw StateDirectoryError(path: folder, problem: "it cannot be read")
        }
    }

    /// Checks that a folder is not that of an account whose data was removed.
    ///
    /// - Throws: `StateDirectoryError` if it is.
    public static func requireNotRemoved(_ path: String) throws(StateDirectoryError) {
        let parts = path.split(separator: "/")
        guard parts.count > 2, parts[parts.count - 2] == accountsName, let account = parts.last
        else { return }
        let state = path.dropLast(accountsName.count + account.count + 2)
        let receipt = receipt(ofAccount: String(account), in: String(state))
        guard access(receipt, F_OK) == 0 else { return }
        throw StateDirectoryError(
            path: path,
            problem:
                "account `\(account)` was removed with its data, as `\(receipt)` says; an id is "
                + "not used again while its receipt is there")
    }
}
