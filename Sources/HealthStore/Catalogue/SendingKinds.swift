public import ClarityScheduler
public import HealthModel

extension JobKind {
    /// The kind that reads the sources and sends nothing.
    public static let importing = JobKind("import")
    public static let bulkUpload = JobKind("bulk-upload")
    public static let exportData = JobKind("export-data")
    public static let cleanup = JobKind("cleanup")
    /// The kind that sends to a server other than the backend.
    public static let auditUpload = JobKind("audit-upload")
    public static let processingStatus = JobKind("processing-status")
    public static let patAnalysis = JobKind("pat-analysis")
    public static let insightGenerate = JobKind("insight-generate")
    public static let refresh = JobKind("refresh")
    public static let insightHistory = JobKind("insight-history")
}

// The kind that works on this machine alone.

/// The options of the kind `import`, which has none: `sources` says what it reads.
public struct ImportingOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .importing, summary: "reads the sources into the archive, and sends nothing",
        isSingle: true)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {}
}

// The kinds that upload samples to the backend.

/// The options of the kind `bulk-upload`.
public struct BulkUploadOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .bulkUpload,
        summary: "reads the sources and sends what the backend does not have yet",
        options: declarations, heedsConditions: true,
        addressKey: backendAddress, isSingle: true)

    /// What happens to samples that were in doubt if a second send could duplicate them.
    public enum OnAmbiguous: String, CaseIterable, Sendable {
        case resend, hold
    }

    /// The number of samples in a request; `nil` means as many as the backend accepts.
    public var batchSize: Int?
    /// The route of new batches; `nil` means the dialect's default.
    public var route: UploadRoute?
    public var onAmbiguous = OnAmbiguous.resend
    /// The bytes that may be sent over a metered connection in 24 h; `nil` means any number.
    public var meteredBudget: Int64?
    /// The maximum number of waiting samples that are sent on battery; 0 means any number.
    public var largeUpload = 500

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "batch_size", .integer(1...1000), &batchSize,
            "samples in one request; without it as many as the backend accepts")
        fields.add(
            "route", &route, otherwise: "auto",
            "endpoint for samples: typed metrics or HealthKit samples; `auto` chooses "
                + "one that accepts the sample's kind")
        fields.add(
            "on_ambiguous", &onAmbiguous,
            "what happens to samples that may already be stored if the backend does not "
                + "deduplicate: send them again and count them, or set them aside for you")
        fields.add(
            "metered_budget", .size((64 << 10)...(1 << 40)), &meteredBudget,
            "maximum to send over a metered connection in 24 h; without it there is no "
                + "limit")
        fields.add(
            "large_upload", .integer(0...1_000_000_000), &largeUpload,
            "an upload of more samples than this waits for external power; 0 never waits")
    }
}

// The kind that gives the records of the archive back.

/// The options of the kind `export-data`.
public struct ExportDataOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .exportData,
        summary: "writes the records of the archive, not encrypted, into a folder such as a NAS's",
        options: declarations)

    /// What records are written as.
    public enum Format: String, CaseIterable, Sendable {
        /// A folder with a file for each type.
        case csv
        /// A folder with a file of FHIR R4 Observations for each type.
        case fhir
        /// A file with a table for each type.
        case sqlite
    }

    public var folder = ""
    public var format = Format.csv
    /// One type on each line; `nil` for all.
    public var types: String?
    public var patient: String?
    public var grain = FHIRGrain.single

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "folder", .path, &folder,
            "folder that has the last complete export and nothing else")
        fields.add(
            "format", &format,
            "what is written: a file of CSV or of FHIR Observations for each type, or `records.db`")
        fields.add("types", .texts, &types, "types to write, such as `HeartRate`; without it all")
        fields.add(
            "patient", .line, &patient,
            "whose records Observations are: `Patient/42`, or the system and the value of an identifier"
        )
        fields.add(
            "grain", &grain,
            "what an Observation of `format: fhir` has: one record, the readings of an hour, or a day"
        )
        if grain != .single, format != .fhir { fields.refuse("`grain` is for `format: fhir`") }
        guard let patient else { return }
        if format != .fhir {
            fields.refuse("`patient` is for `format: fhir`")
        } else if FHIRPatient(patient) == nil {
            fields.refuse("`patient` is \(FHIRPatient.form), got `\(patient)`")
        }
    }
}

/// Whose records Observations are, as a FHIR server knows the person (R4, Reference).
public enum FHIRPatient: Hashable, Sendable {
    /// A resource of the server, such as `Patient/42`.
    case reference(String)
    /// A number that an organisation gives, such as `https://clinic.example/mrn|4711`.
    case identifier(system: String, value: String)

    /// What its text is, for a message.
    public static let form =
        "`Patient/ID`, or the system and the value of an identifier with `|` between them"

    /// Parses `Patient/ID` or `SYSTEM|VALUE`; `nil` for anything else.
    public init?(_ text: String) {
        if text.wholeMatch(of: /Patient\/[A-Za-z0-9.\-]{1,64}/) != nil {
            self = .reference(text)
        } else if let parts = text.wholeMatch(of: /([a-z][a-z0-9+.\-]*:[^\s|]+)\|(\S+)/) {
            self = .identifier(system: String(parts.output.1), value: String(parts.output.2))
        } else {
            return nil
        }
    }
}

/// How fine the records go to a FHIR server.
public enum FHIRGrain: String, CaseIterable, Sendable {
    /// Each record as a resource.
    case single
    /// The readings of an hour together.
    case hourly
    /// The days and nights, where a day has a value for a type; all other records one by one.
    case days
}

// The kinds that keep the state directory small and auditable.

/// The options of the kind `cleanup`.
public struct CleanupOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .cleanup,
        summary: "deletes old data that the backend has confirmed, and compacts the database",
        options: declarations)

    public var retain = days(90)
    public var retainAudit = days(90)
    public var retainFiles: Duration?
    public var retainRecords: Duration?
    public var mostRecordBytes: Int64?
    /// One type on each line; `nil` for all.
    public var recordTypes: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        let spans = OptionDeclaration.ValueType.duration(days(1)...days(36_600))
        fields.add(
            "retain", spans, &retain,
            "how long values that the backend has confirmed stay readable here")
        fields.add(
            "retain_audit", spans, &retainAudit,
            "how long entries of the audit log stay here after an `audit-upload` job has "
                + "sent them")
        fields.add(
            "retain_files", spans, &retainFiles,
            "how long files stay in `done` of a spool folder; without it they are never "
                + "deleted, and those in `rejected` never are")
        fields.add(
            "retain_records", spans, &retainRecords,
            "how long records stay in the archive, a whole month of a type at a time; without it "
                + "for ever")
        fields.add(
            "records_at_most", .size(1 << 20...1 << 50), &mostRecordBytes,
            "the most that the records of the archive may take; the oldest months go first")
        fields.add(
            "record_types", .texts, &recordTypes,
            "types that the two rules are about, such as `HeartRate`; without it all")
    }
}

/// The options of the kind `audit-upload`.
public struct AuditUploadOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .auditUpload,
        summary: "sends new entries of the audit log, without values, to a server of your own",
        options: declarations, addressKey: "url")

    public var url = ""
    public var pageSize = 500
    public var authorities: String?
    /// One digest on each line.
    public var pins: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "url", .url, &url, "address to which the entries are posted, as NDJSON")
        fields.add("page_size", .integer(1...1000), &pageSize, "entries in one request")
        fields.add(
            OptionDeclaration.authorities, .path, &authorities,
            "file with the certificate authorities to trust instead of the system's")
        fields.add(
            OptionDeclaration.pins, .texts, &pins,
            "digests `sha256//...` of at least two public keys; the server must present "
                + "one of them")
    }
}

// The kinds that concern analyses and insights by the backend.

/// The options of the kind `processing-status`.
public struct ProcessingStatusOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .processingStatus,
        summary: "asks what became of uploads and analyses",
        options: declarations,
        events: [.uploadCompleted, .analysisCompleted], addressKey: backendAddress)

    public var giveUpAfter = days(7)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "give_up_after", .duration(.seconds(1)...days(366)), &giveUpAfter,
            "time without a final answer after which uploads and analyses become "
                + "`unconfirmed`")
    }
}

/// The options of the kind `pat-analysis`.
public struct PatAnalysisOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .patAnalysis,
        summary: "sends the newest whole week of steps, minute by minute, to be analysed",
        options: declarations, events: [.analysisCompleted],
        addressKey: backendAddress)

    public var minutesNeeded = 7200
    /// The form in which the week is sent; `nil` means the one that the backend analyses.
    public var form: AnalysisForm?
    public var polling = ProcessingStatusOptions()

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "minutes_needed", .integer(1...10_080), &minutesNeeded,
            "minutes of the week's 10080 that must have data")
        fields.add(
            "form", &form, otherwise: "auto",
            "form in which the week is sent: as steps or as measurements of movement; "
                + "`auto` uses the form that the backend analyses")
        polling.declare(in: &fields)
    }
}

/// The options of the kind `insight-generate`.
public struct InsightGenerateOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .insightGenerate,
        summary: "requests an insight about the newest analysis, once",
        options: declarations, events: [.insightGenerated],
        addressKey: backendAddress)

    public enum Length: String, CaseIterable, Sendable {
        case comprehensive, brief
    }

    /// What is sent along with the numbers of the analysis.
    public enum Context: String, CaseIterable, Sendable {
        case none, summary
    }

    public var length = Length.comprehensive
    /// A tag of letters, digits and `-`, at most 35 characters long (RFC 5646, section 4.4.1).
    public var language = "en"
    public var includesRecommendations = true
    public var context = Context.summary

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("type", &length, "how long the text is")
        fields.add(
            "language", .text, &language, "language of the text, as a tag such as `en` or `pt-BR`")
        let words = language.utf8.split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isTag =
            language.utf8.count <= 35 && (2...8).contains(words[0].count)
            && words.allSatisfy { word in
                (1...8).contains(word.count) && word.allSatisfy(\.isLetterOrDigit)
            }
        if !isTag {
            fields.refuse("option `language` is no language tag such as `en` or `pt-BR`")
        }
        fields.add(
            "recommendations", .boolean, &includesRecommendations,
            "whether the text contains recommendations")
        fields.add(
            "context", &context,
            "what is sent with the results of the analysis: nothing, or the number of "
                + "days and of samples")
    }
}

// The kinds that pull from the backend.

/// The options of the kind `refresh`.
public struct RefreshOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .refresh,
        summary: "fetches the profile, the latest insights and changed metrics",
        options: declarations, addressKey: backendAddress)

    public var pageSize = 100
    public var wholeEvery = days(7)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("page_size", .integer(1...500), &pageSize, "rows in one request")
        fields.add(
            "whole_every", .duration(.seconds(3600)...days(366)), &wholeEvery,
            "how often all metrics are fetched again, to find those that changed long "
                + "after they were measured")
    }
}

/// The options of the kind `insight-history`.
public struct InsightHistoryOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .insightHistory,
        summary: "fetches every insight that the backend has made",
        options: declarations, addressKey: backendAddress)

    public var pageSize = 20
    public var fullTexts = 50

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("page_size", .integer(1...100), &pageSize, "insights in one request")
        fields.add(
            "full_texts", .integer(0...1000), &fullTexts,
            "maximum number of full texts that a run fetches, if the backend has them")
    }
}
