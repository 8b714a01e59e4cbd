public import HealthStore
import ClarityScheduler
import Platform
import JSON

/// The texts of a logout.
public enum LogoutText {
    /// Returns the question before everything is removed. It ends where the answer begins.
    ///
    /// - Parameters:
    ///   - email: the address of the account, if it is known.
    ///   - unsent: the number of samples that were never sent to the backend.
    public static func question(email: String?, unsent: Int64) -> String {
        let loss =
            unsent == 0
            ? ""
            : counted(unsent, unsent == 1 ? "samples was" : "samples were")
                + " never sent to the backend and would be lost.\n"
        let whose = email.map { " of \($0)".forReport } ?? ""
        return "\(loss)Log out and remove all data\(whose) from this machine? [y/N] "
    }

    /// Returns the receipt for people: `logged out; removed:`, and a line for each kind
    /// that there was.
    public static func lines(_ receipt: WipeReceipt) -> [String] {
        let entries = receipt.entries.filter { $0.count > 0 }
        guard !entries.isEmpty else { return ["logged out"] }
        let width = entries.map { String($0.count).count }.max() ?? 0
        return ["logged out; removed:"]
            + entries.map { entry in
                let space = width - String(entry.count).count + 2
                return String(repeating: " ", count: space) + counted(entry.count, entry.name)
            }
    }
}

/// The result of `auth logout`.
public struct LogoutResult: Reported {
    let receipt: WipeReceipt?

    /// - Parameter receipt: what was removed; `nil` if the data stays.
    public init(_ receipt: WipeReceipt?) { self.receipt = receipt }

    public static let report = Report<LogoutResult>([
        Column("logged_out", "true") { _ in true },
        Column(
            "removed", "number of removed entries by kind; none if data stays",
            as: { .map(.integer) }, isOptional: true
        ) { result in
            guard let receipt = result.receipt else { return .null }
            return .object(
                receipt.entries.map {
                    .init(name: $0.name.replacing(" ", with: "_"), value: .integer($0.count))
                })
        },
    ])
}
