import ClarityHost
import ClarityScheduler
import HealthStore
import Platform
import Reports

// The results of the commands, as a table. `docs/json.md` is generated from it.

extension ResultSchema {
    /// The results of all commands that have one; the others print a text or a stream of their own.
    static var commands: [CommandResult] {
        let runCommands = [
            CommandResult("run", [ListedRun].valueType),
            CommandResult("dry-run", .either([DryRunResult.valueType, PlannedCommand.valueType])),
            CommandResult(
                "status", .either([StatusResult.valueType, AccountsResult.valueType]),
                line: .either(StatusResult.lineTypes + [AccountStatus.valueType])),
            CommandResult("list", [ListedJob].valueType),
            CommandResult("next", [NextOccurrence].valueType),
            CommandResult(
                "explain", .either([ExplanationText.valueType, ExplainedOccurrence.valueType])),
            CommandResult(
                "simulate", .either([SimulationText.valueType, SimulatedAccountsText.valueType])),
            CommandResult("history", [ListedRun].valueType),
            CommandResult("history missed", [MissedOccurrences].valueType),
            CommandResult("history show", ShownRun.valueType),
            CommandResult("pause", [PausedJob].valueType),
            CommandResult("resume", [PausedJob].valueType),
            CommandResult("backfill", Backfill.valueType),
            CommandResult("cancel", [RequestedRun].valueType),
            CommandResult("retry", [RequestedRun].valueType),
            CommandResult(
                "audit", .list(.object(Console.PartedList.account.fields + AuditRow.report.fields))),
            CommandResult(
                "audit log", .either([[AuditRecord].valueType, AuditProof.valueType]),
                line: .either([AuditRecord.valueType, AuditProof.valueType])),
            CommandResult("doctor", .either([DoctorText.valueType, BackendResult.valueType])),
            CommandResult("validate", [JobFileFinding].valueType),
        ]
        let dataCommands = [
            CommandResult("receive token add", AddedToken.valueType),
            CommandResult(
                "receive token list", [PushTokens.Entry].valueType),
            CommandResult("receive token revoke", RevokedToken.valueType),
            CommandResult("serve link", PageLink.valueType),
            CommandResult("serve sessions list", [PageSessions.Entry].valueType),
            CommandResult(
                "serve sessions end",
                EndedSessions.valueType),
            CommandResult("notices list", [ListedNotice].valueType),
            CommandResult("notify test", [NotifyTestResult].valueType),
            CommandResult("import", ImportResult.valueType),
            ofEach("export-data", RecordExport.Receipt.report.fields),
            CommandResult("report", WrittenReport.valueType),
            CommandResult("sources", [SourceResult].valueType),
            CommandResult(
                "summary", DaySummary.valueType,
                line: .either([SummaryItem.valueType, SummaryInsight.valueType])),
            CommandResult(
                "metrics", .either([[MetricStockRow].valueType, MetricsResult.valueType]),
                line: .either([MetricStockRow.valueType, MetricRow.line.type])),
            CommandResult(
                "records", .either([[RecordStock].valueType, RecordsResult.valueType]),
                line: .either([RecordStock.valueType, RecordEntry.valueType])),
            CommandResult(
                "insights", .either([[StoredInsight].valueType, StoredInsight.valueType]),
                line: StoredInsight.valueType),
            CommandResult(
                "analyses", .either([[AnalysisEntry].valueType, AnalysisEntry.valueType]),
                line: AnalysisEntry.valueType),
            CommandResult("profile", SheetReader.profileReport.type),
            CommandResult("archive list", [ArchivedVersion].valueType),
            CommandResult("archive show", ArchivedContent.valueType),
            ofEach("outbox", OutboxArithmetic.report.fields),
            CommandResult("outbox list", [OutboxEntry].valueType),
            CommandResult("outbox show", OutboxSample.valueType),
            CommandResult("outbox retry", OutboxAction.retry.report.type),
            CommandResult("outbox discard", OutboxAction.discard.report.type),
            CommandResult("outbox erase", ErasureResult.valueType),
        ]
        let stateCommands = [
            ofEach("auth login", Session.report.fields),
            CommandResult("auth register", RegisteredAccount.valueType),
            CommandResult("auth verify", ConfirmationResult.confirmed.type),
            CommandResult("auth resend-code", ConfirmationResult.mailed.type),
            CommandResult("auth reset-password", PasswordReset.valueType),
            CommandResult("auth status", SessionStatus.valueType),
            CommandResult("auth logout", LogoutResult.valueType),
            CommandResult("accounts list", [ListedAccount].valueType),
            CommandResult(
                "accounts show", .either([ShownAccount.valueType, RemovedAccount.valueType])),
            CommandResult("accounts add", [AddedAccount].valueType),
            CommandResult("accounts remove", RemovedAccount.valueType),
            CommandResult("key rotate", KeyRotationReport.valueType),
            CommandResult("key status", KeyStatus.valueType),
            CommandResult("store copy", CopiedStore.valueType),
            CommandResult("store status", ServerStatus.valueType),
            ofEach("backup", StateBackup.Receipt.report.fields),
            CommandResult(
                "backup list", .list(.either([Backup.valueType, FaultyBackup.valueType]))),
            CommandResult("restore", RestoreResult.valueType),
        ]
        return runCommands + dataCommands + stateCommands
    }

    /// Declares the result of a command that may be for several accounts, and then has a list.
    private static func ofEach(_ command: String, _ fields: [Field]) -> CommandResult {
        CommandResult(
            command,
            .either([.object(fields), .list(.object(Console.PartedList.account.fields + fields))]),
            line: .object(Console.PartedList.account.fields + fields))
    }

    /// The objects that occur in several results.
    static var shared: [(String, [Field])] {
        [
            ("run", ListedRun.report.fields), ("attempt", Attempt.report.fields),
            ("deferral", Deferral.report.fields),
            ("deferral_span", DeferralSpan.report.fields), ("pause", Pause.report.fields),
            ("insight", StoredInsight.report.fields),
            ("analysis", AnalysisEntry.report.fields),
        ]
    }
}
