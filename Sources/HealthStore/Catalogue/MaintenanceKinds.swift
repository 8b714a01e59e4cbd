public import ClarityScheduler

// The kinds that keep the state directory small and auditable.

extension JobKind {
    public static let cleanup = JobKind("cleanup")
}

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
            "ca_bundle", .path, &authorities,
            "file with the certificate authorities to trust instead of the system's")
        fields.add(
            "pins", .texts, &pins,
            "digests `sha256//...` of at least two public keys; the server must present "
                + "one of them")
    }
}

extension JobKind {
    /// The kind that sends to a server other than the backend.
    public static let auditUpload = JobKind("audit-upload")
}
