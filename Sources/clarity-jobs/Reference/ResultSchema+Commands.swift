// The results of the commands, as a table. `docs/json.md` is generated from it.

extension ResultSchema {
    /// The results of all commands that have one; the others print a text or a stream of their own.
    static var commands: [CommandResult] {
        let runCommands = [
            CommandResult("run", .list(.shared("run"))),
            CommandResult("dry-run", .either([.object(dryRun), .object(commandDryRun)])),
            CommandResult(
                "status", .either([.object(status), .object(statusAll)]),
                line: .either(statusLines + [.object(statusAccount)])),
            CommandResult("list", .list(.object(list))),
            CommandResult("next", .list(.object(next))),
            CommandResult("explain", .either([.object(explain), .object(explainPast)])),
            CommandResult("simulate", .either([.object(simulate), .object(simulatedAccounts)])),
            CommandResult("history", .list(.shared("run"))),
            CommandResult("history missed", .list(.object(missed))),
            CommandResult("history show", .object(historyShow)),
            CommandResult("pause", .list(.object(pause))),
            CommandResult("resume", .list(.object(pause))),
            CommandResult("backfill", .object(backfill)),
            CommandResult("cancel", .list(.object(request))),
            CommandResult("retry", .list(.object(request))),
            CommandResult("audit", .list(.object([ofAccount] + audit))),
            CommandResult(
                "audit log", .either([.list(.object(auditLog)), .object(auditProof)]),
                line: .either([.object(auditLog), .object(auditProof)])),
            CommandResult("doctor", .either([.object(doctor), .object(backend)])),
            CommandResult("validate", .list(.object(validate))),
        ]
        let dataCommands = [
            CommandResult("receive token add", .object([tokenName, token])),
            CommandResult(
                "receive token list",
                .list(
                    .object([
                        tokenName, ResultField("added_at", .instant, "when the token was added"),
                    ]))),
            CommandResult("receive token revoke", .object([tokenName])),
            CommandResult("serve link", .object(link)),
            CommandResult("serve sessions list", .list(.object(pageSession))),
            CommandResult(
                "serve sessions end",
                .object([ResultField("ended", .integer, "number of sessions that were ended")])),
            CommandResult("notices list", .list(.object(notices))),
            CommandResult("notify test", .list(.object(notifyTest))),
            CommandResult("import", .object(importing)),
            ofEach("export-data", exportData),
            CommandResult("report", .object(report)),
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
                    ResultField(
                        "retried", .integer, "number of samples that are sent or read again")
                ])),
            CommandResult(
                "outbox discard",
                .object([
                    ResultField("discarded", .integer, "number of samples that were given up")
                ])),
            CommandResult("outbox erase", .object(outboxErase)),
        ]
        let stateCommands = [
            ofEach("auth login", login),
            CommandResult("auth register", .object(register)),
            CommandResult(
                "auth verify",
                .object([
                    ResultField("email", .text, "the address that was confirmed")
                ])),
            CommandResult(
                "auth resend-code",
                .object([
                    ResultField("email", .text, "the address to which the code was mailed")
                ])),
            CommandResult("auth reset-password", .object(resetPassword)),
            CommandResult("auth status", .object(authStatus)),
            CommandResult("auth logout", .object(logout)),
            CommandResult("accounts list", .list(.object(accountsList))),
            CommandResult("accounts show", .either([.object(account), .object(removedAccount)])),
            CommandResult("accounts add", .list(.object(addedAccount))),
            CommandResult("accounts remove", .object(removedAccount)),
            CommandResult("key rotate", .object(keyRotate)),
            CommandResult("key status", .object(keyStatus)),
            CommandResult("store copy", .object(storeCopy)),
            CommandResult("store status", .object(storeStatus)),
            ofEach(
                "backup",
                backup + [
                    ResultField(
                        maybe: "key_place", .text, "where the key is that opens the backup")
                ]),
            CommandResult("backup list", .list(.either([.object(backup), .object(faultyBackup)]))),
            CommandResult("restore", .object(restore)),
        ]
        return runCommands + dataCommands + stateCommands
    }

    private static var ofAccount: ResultField {
        ResultField(maybe: "account", .text, "id of the account, if the command is for several")
    }

    /// Declares the result of a command that may be for several accounts, and then has a list.
    private static func ofEach(_ command: String, _ fields: [ResultField]) -> CommandResult {
        CommandResult(
            command, .either([.object(fields), .list(.object([ofAccount] + fields))]),
            line: .object([ofAccount] + fields))
    }

    /// The objects that occur in several results.
    static var shared: [(String, [ResultField])] {
        [
            ("run", run), ("attempt", attempt), ("deferral", deferral),
            ("deferral_span", deferralSpan), ("pause", pauseFields), ("insight", insight),
            ("analysis", analysis),
        ]
    }

    /// Returns the words of an enum as a reader of the results meets them.
    static func words<Word: CaseIterable & RawRepresentable<String>>(
        _ type: Word.Type
    ) -> String {
        type.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }
}
