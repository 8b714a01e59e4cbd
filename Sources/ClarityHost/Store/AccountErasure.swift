public import ClarityScheduler
import Platform
import Database
import Glibc

/// Removes from a history what an account's programs wrote: outputs, notes, reasons and facts. The
/// runs stay, with their times and counts.
public struct AccountErasure {
    /// What stands for a reason that was removed, because a run that failed has one.
    static let removedReason = "removed with its account"
    /// The name of the fact that an account's texts were removed, so that a scheduler that ends an
    /// attempt afterwards writes none.
    private static let mark = "removed"

    private let connection: Connection
    private let path: String

    /// Opens the file of a state directory; `nil` if there is none.
    static func file(
        in directory: StateDirectory
    ) throws(RunStoreError) -> (connection: FileConnection, path: String)? {
        let path = "\(directory.path)/history.db"
        return try rethrowing(path) {
            try demandUsable(path)
            guard access(path, F_OK) == 0 else { return nil }
            let connection = try FileConnection(path: path, access: .readWrite)
            try historyMigrations.migrate(connection) { _ in
                try BackupFolder.makeBeforeMigration(of: path)
            }
            return (connection, path)
        }
    }

    init(_ connection: Connection, at path: String) {
        (self.connection, self.path) = (connection, path)
    }

    /// Removes the texts of an account, and then what is left of them in the file and its log.
    ///
    /// It changes nothing the second time. A file's backups of before keep what they have.
    public func run(of account: AccountID, at now: Instant) throws(RunStoreError) {
        try rethrowing(path) {
            try connection.overwrite(true)
            try connection.transaction {
                for statement in AccountErasure.statements {
                    try connection.run(
                        statement, .text(account.jobs.lowerBound), .text(account.jobs.upperBound))
                }
                try connection.run(
                    "DELETE FROM account_facts WHERE account = ?", .text(account.rawValue))
                try connection.run(
                    "INSERT INTO account_facts (account, name, value, at_ms) VALUES (?, ?, 1, ?)",
                    .text(account.rawValue), .text(AccountErasure.mark), .instant(now))
            }
            try connection.rewrite()
        }
    }

    private static let runs = "SELECT id FROM runs WHERE job_id > ?1 AND job_id < ?2"

    private static let statements = [
        "DELETE FROM attempt_outputs WHERE run_id IN (\(runs))",
        "UPDATE attempts SET reason = NULL WHERE reason IS NOT NULL AND run_id IN (\(runs))",
        "UPDATE deferrals SET wanted = '', measured = '', source = '' WHERE run_id IN (\(runs))",
        """
        UPDATE runs SET notes = '', checkpoint = NULL,
            failure_reason = CASE WHEN failure_reason IS NOT NULL THEN '\(removedReason)' END
        WHERE job_id > ?1 AND job_id < ?2
        """,
        """
        UPDATE job_records SET pause_reason = ''
        WHERE pause_reason IS NOT NULL AND job_id > ?1 AND job_id < ?2
        """,
    ]

    /// Returns whether an account's texts were removed.
    static func isDone(
        for account: AccountID?, _ connection: Connection
    ) throws(DatabaseError) -> Bool {
        guard let account else { return false }
        return try connection.first(
            "SELECT 1 FROM account_facts WHERE account = ? AND name = ?",
            .text(account.rawValue), .text(mark)
        ) { _ in true } ?? false
    }
}

extension Run {
    /// The run without what its programs wrote, if they did.
    var withoutTexts: Run? {
        guard !notes.isEmpty || checkpoint != nil || failure != nil else { return nil }
        var run = self
        (run.notes, run.checkpoint) = ([], nil)
        if let failure { run.failure = Failure(failure.category, AccountErasure.removedReason) }
        return run
    }
}

extension Attempt {
    /// The attempt without what its programs wrote, if they did.
    var withoutTexts: Attempt? {
        guard output != nil || reason != nil else { return nil }
        var attempt = self
        (attempt.output, attempt.reason) = (nil, nil)
        return attempt
    }
}
