import ClarityHost
import ClarityScheduler
import HealthStore
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
                "audit log", .either([.list(.object(auditLog)), .object(auditProof)]),
                line: .either([.object(auditLog), .object(auditProof)])),
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
            ofEach("export-data", exportData),
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
            ofEach("outbox", outbox),
            CommandResult("outbox list", .list(.object(outboxSample + [batchNumber]))),
            CommandResult("outbox show", .object(outboxShow)),
            CommandResult(
                "outbox retry",
                .object([
                    Field(
                        "retried", .integer, "number of samples that are sent or read again")
                ])),
            CommandResult(
                "outbox discard",
                .object([
                    Field("discarded", .integer, "number of samples that were given up")
                ])),
            CommandResult("outbox erase", .object(outboxErase)),
        ]
        let stateCommands = [
            ofEach("auth login", login),
            CommandResult("auth register", .object(register)),
            CommandResult(
                "auth verify",
                .object([
                    Field("email", .text, "the address that was confirmed")
                ])),
            CommandResult(
                "auth resend-code",
                .object([
                    Field("email", .text, "the address to which the code was mailed")
                ])),
            CommandResult("auth reset-password", .object(resetPassword)),
            CommandResult("auth status", .object(authStatus)),
            CommandResult("auth logout", .object(logout)),
            CommandResult("accounts list", [ListedAccount].valueType),
            CommandResult(
                "accounts show", .either([ShownAccount.valueType, RemovedAccount.valueType])),
            CommandResult("accounts add", [AddedAccount].valueType),
            CommandResult("accounts remove", RemovedAccount.valueType),
            CommandResult("key rotate", .object(keyRotate)),
            CommandResult("key status", .object(keyStatus)),
            CommandResult("store copy", CopiedStore.valueType),
            CommandResult("store status", ServerStatus.valueType),
            ofEach(
                "backup",
                backup + [
                    Field(
                        maybe: "key_place", .text, "where the key is that opens the backup")
                ]),
            CommandResult("backup list", .list(.either([.object(backup), .object(faultyBackup)]))),
            CommandResult("restore", .object(restore)),
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
