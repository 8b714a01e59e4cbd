import JSON
import Reports
import ClarityHost
import HealthModel
import ClarityScheduler
import HealthStore
import Platform

/// What a command writes with `--output json` and `--output ndjson`.
struct CommandResult {
    /// The command without the program's name, such as `history show`.
    let command: String
    /// The document of `json`.
    let document: ValueType
    /// Each line of `ndjson`.
    let line: ValueType

    /// Declares a result. If the lines are not declared, a list has a line for each element, and
    /// anything else is one line.
    init(_ command: String, _ document: ValueType, line: ValueType? = nil) {
        self.command = command
        self.document = document
        if let line {
            self.line = line
        } else if case .list(let element) = document {
            self.line = element
        } else {
            self.line = document
        }
    }

    /// The command's name in the schema, such as `history-show`.
    var key: String { command.replacing(" ", with: "-") }
}

/// The JSON Schema (draft 2020-12) of the results of commands.
///
/// It accepts fields that it does not declare, because a later release of the same version may add
/// some. A test makes it strict and checks the real output against it.
struct ResultSchema {
    /// The version of the results. A field that is removed, renamed or given another meaning makes
    /// a new version; an added field does not.
    static let version = 1

    /// Where the definitions are in the document that has them.
    var place = "#/$defs/"

    /// The schema: under `$defs`, the document of each command under its name, a line of `ndjson`
    /// under its name with `.line`, and the shared objects under their names after `object.`.
    var document: JSON {
        [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": .string("urn:clarity-jobs:results:\(ResultSchema.version)"),
            "title": "results of the commands of clarity-jobs",
            "description":
                .string(
                    "The result of a command is described by the entry of $defs with its name, "
                        + "and a line of --output ndjson by the one that ends in `.line`. Ignore "
                        + "fields that you do not know: a later release may add some without a "
                        + "new version."),
            "$defs": .object(
                sharedDefinitions
                    + ResultSchema.commands.flatMap { result in
                        [
                            definition(of: result),
                            .init(name: "\(result.key).line", value: schema(result.line)),
                        ]
                    }),
        ]
    }

    /// The definitions of the objects that occur in several results.
    var sharedDefinitions: [JSON.Member] {
        ResultSchema.shared.map { name, fields in
            JSON.Member(name: "object.\(name)", value: schema(.object(fields)))
        }
    }

    /// Returns the definition of a command's document.
    func definition(of result: CommandResult) -> JSON.Member {
        .init(name: result.key, value: schema(result.document))
    }

    private func schema(_ type: ValueType) -> JSON {
        switch type {
        case .text: ["type": "string"]
        case .integer: ["type": "integer"]
        case .number: ["type": "number"]
        case .boolean: ["type": "boolean"]
        case .instant:
            [
                "type": "string", "format": "date-time",
                "pattern": #"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$"#,
            ]
        case .day: ["type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"]
        case .any: [:]
        case .map(let value): ["type": "object", "additionalProperties": schema(value)]
        case .list(let element): ["type": "array", "items": schema(element)]
        case .object(let fields): object(fields)
        case .shared(let name): ["$ref": .string("\(place)object.\(name)")]
        case .either(let types): ["anyOf": .array(types.map(schema))]
        }
    }

    private func object(_ fields: [Field]) -> JSON {
        let properties = fields.map { field -> JSON.Member in
            let value =
                field.isOptional
                ? ["anyOf": [schema(field.type), ["type": "null"]]] : schema(field.type)
            let head: JSON = ["description": .string(field.summary)]
            return JSON.Member(name: field.name, value: head.adding(value))
        }
        let required = fields.filter { !$0.isOptional }.map { JSON.string($0.name) }
        return [
            "type": "object", "properties": .object(properties), "required": .array(required),
        ]
    }
}

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
                "explain", .either([ExplanationReport.valueType, ExplainedOccurrence.valueType])),
            CommandResult(
                "simulate", .either([SimulationResult.valueType, SimulatedAccounts.valueType])),
            CommandResult("history", [ListedRun].valueType),
            CommandResult("history missed", [MissedOccurrences].valueType),
            CommandResult("tonight", [TonightsJob].valueType),
            CommandResult("history waits", [WaitSum].valueType),
            CommandResult("history show", ShownRun.valueType),
            CommandResult("logs", [Attempt].valueType),
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
            CommandResult("doctor", .either([DoctorReport.valueType, BackendResult.valueType])),
            CommandResult("validate", [JobFileFinding].valueType),
        ]
        let dataCommands = [
            CommandResult("receive token add", AddedToken.valueType),
            CommandResult(
                "receive token list", [BearerTokens.Entry].valueType),
            CommandResult("receive token revoke", RevokedToken.valueType),
            CommandResult("serve link", PageLink.valueType),
            CommandResult("serve token add", AddedToken.valueType),
            CommandResult("serve token list", [RunToken].valueType),
            CommandResult("serve token remove", RevokedToken.valueType),
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
                "nights", SpanResult.valueType,
                line: .either([NightRow.valueType, NightMonth.valueType])),
            CommandResult(
                "workouts", SpanResult.ofWorkouts.type,
                line: .either([WorkoutRow.valueType, WorkoutMonth.valueType])),
            CommandResult(
                "activity", SpanResult.ofActivity.type,
                line: .either([RingDay.valueType, RingMonth.valueType])),
            CommandResult("diary", DiaryResult.valueType, line: DiaryEntry.valueType),
            CommandResult(
                "ecgs", ElectrocardiogramsResult.valueType, line: Electrocardiogram.valueType),
            CommandResult("trends", TrendsResult.valueType, line: Trend.valueType),
            CommandResult("year", YearReport.valueType, line: YearReport.figuresType),
            CommandResult(
                "insights", .either([[StoredInsight].valueType, StoredInsight.valueType]),
                line: StoredInsight.valueType),
            CommandResult(
                "analyses", .either([[AnalysisEntry].valueType, AnalysisEntry.valueType]),
                line: AnalysisEntry.valueType),
            CommandResult("profile", HealthReader.profileReport.type),
            CommandResult("archive list", [ArchivedVersion].valueType),
            CommandResult("archive show", ArchivedContent.valueType),
            ofEach("outbox", OutboxArithmetic.report.fields),
            CommandResult("outbox list", [OutboxEntry].valueType),
            CommandResult("outbox show", OutboxSample.valueType),
            CommandResult("outbox retry", OutboxAction.retry.report.type),
            CommandResult("outbox discard", OutboxAction.discard.report.type),
            CommandResult("outbox erase", ErasureResult.valueType),
            CommandResult("fhir list", [FHIRSums].valueType),
            CommandResult("fhir verify", FHIRComparison.valueType),
            CommandResult("fhir erase", FHIRErasureResult.valueType),
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
            ("fhir_month", FHIRMonthComparison.report.fields),
        ]
    }
}
