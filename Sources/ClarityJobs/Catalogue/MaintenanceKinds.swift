public import ClarityScheduler

// The kinds that keep the state directory small and auditable.

extension JobKindDeclaration {
    static let cleanup = JobKindDeclaration(
        JobKind("cleanup"),
        summary: "removes local copies of what the backend has, and compacts the file",
        options: CleanupOptions.declarations)

    static let auditUpload = JobKindDeclaration(
        .auditUpload,
        summary: "sends the audit log's new entries, kinds and counts only, to a place of your "
            + "own",
        options: AuditUploadOptions.declarations, addressKey: "url")
}

/// The options of the kind `cleanup`.
public struct CleanupOptions: DeclaredOptions {
    public var retain = days(90)
    public var retainAudit = days(90)
    public var retainFiles: Duration?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        let spans = OptionDeclaration.Form.duration(days(1)...days(36_600))
        fields.add("retain", spans, &retain, "how long confirmed values stay readable here")
        fields.add(
            "retain_audit", spans, &retainAudit,
            "how long entries of the audit log stay here that were uploaded")
        fields.add(
            "retain_files", spans, &retainFiles,
            "how long the files stay that a spool folder has moved to `done`, not those in "
                + "`rejected`; without it, for ever")
    }
}

/// The options of the kind `audit-upload`.
public struct AuditUploadOptions: DeclaredOptions {
    public var url = ""
    public var pageSize = 500
    public var authorities: String?
    /// One digest on each line.
    public var pins: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(required: "url", .url, &url, "where the entries are posted, as NDJSON")
        fields.add("page_size", .integer(1...1000), &pageSize, "entries sent at once")
        fields.add(
            "ca_bundle", .path, &authorities,
            "a file with the certificates of the authorities to trust for that place")
        fields.add(
            "pins", .texts, &pins,
            "the digests `sha256//...` of at least two public keys of which that place has one")
    }
}

extension JobKind {
    /// The kind that sends to a server other than the backend.
    public static let auditUpload = JobKind("audit-upload")
}
