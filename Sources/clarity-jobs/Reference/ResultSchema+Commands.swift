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
            CommandResult("run", [RunRow].valueType),
            CommandResult("dry-run", .either([.object(dryRun), PlannedCommand.valueType])),
            CommandResult(
                "status", .either([StatusResult.valueType, AccountsResult.valueType]),
                line: .either(StatusResult.lineTypes + [AccountStatus.valueType])),
            CommandResult("list", [ListedJob].valueType),
            CommandResult("next", [NextOccurrence].valueType),
            CommandResult(
                "explain", .either([ExplanationText.valueType, ExplainedOccurrence.valueType])),
            CommandResult(
                "simulate", .either([SimulationText.valueType, SimulatedAccountsText.valueType])),
            CommandResult("history", [RunRow].valueType),
            CommandResult("history missed", [MissedOccurrences].valueType),
            CommandResult("history show", RunStory.valueType),
            CommandResult("pause", [PausedJob].valueType),
            CommandResult("resume", [PausedJob].valueType),
            CommandResult("backfill", Backfill.valueType),
            CommandResult("cancel", [RequestedRun].valueType),
            CommandResult("retry", [RequestedRun].valueType),
            CommandResult("audit", .list(.object([ofAccount] + AuditRow.report.fields))),
            CommandResult(
                "audit log", .either([[AuditRecord].valueType, AuditProof.valueType]),
                line: .either([AuditRecord.valueType, AuditProof.valueType])),
            CommandResult("doctor", .either([DoctorText.valueType, .object(backend)])),
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
            CommandResult("notify test", .list(.object(notifyTest))),
            CommandResult("import", .object(importing)),
            ofEach("export-data", RecordExport.Receipt.report.fields),
            CommandResult("report", WrittenReport.valueType),
            CommandResult("sources", .list(.object(sources))),
            CommandResult("summary", .object(summary), line: .object(summaryLine)),
            CommandResult(
                "metrics", .either([.list(.object(stocks)), .object(metrics)]),
                line: .either([.object(stocks), .object(metricsLine)])),
            CommandResult(
                "records", .either([.list(.object(recordTypes)), .object(records)]),
                line: .either([.object(recordTypes), .object(recordRow)])),
            CommandResult(
                "insights", .either([.list(.shared("insight")), .shared("insight")]),
                line: .shared("insight")),
            CommandResult(
                "analyses", .either([.list(.shared("analysis")), .shared("analysis")]),
                line: .shared("analysis")),
            CommandResult("profile", .object(profile)),
            CommandResult("archive list", .list(.object(archive))),
            CommandResult("archive show", .object(archiveShow)),
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

    private static var ofAccount: Field {
        Field(maybe: "account", .text, "id of the account, if the command is for several")
    }

    /// Declares the result of a command that may be for several accounts, and then has a list.
    private static func ofEach(_ command: String, _ fields: [Field]) -> CommandResult {
        CommandResult(
            command, .either([.object(fields), .list(.object([ofAccount] + fields))]),
            line: .object([ofAccount] + fields))
    }

    /// The objects that occur in several results.
    static var shared: [(String, [Field])] {
        [
            ("run", RunRow.report.fields), ("attempt", Attempt.report.fields),
            ("deferral", Deferral.report.fields),
            ("deferral_span", DeferralSpan.report.fields), ("pause", Pause.report.fields),
            ("insight", insight), ("analysis", analysis),
        ]
    }
}
