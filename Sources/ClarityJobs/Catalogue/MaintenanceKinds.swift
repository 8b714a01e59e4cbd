import ClarityScheduler

// The kinds that keep the state directory small and auditable.

extension JobKindDeclaration {
    static let cleanup = JobKindDeclaration(
        JobKind("cleanup"),
        summary: "deletes old data that the backend has confirmed, and compacts the database",
        options: [
            OptionDeclaration(
                "retain", .duration(days(1)...days(36_600)),
                standard: String(days(90).milliseconds),
                summary: "how long values that the backend has confirmed stay readable here"),
            OptionDeclaration(
                "retain_audit", .duration(days(1)...days(36_600)),
                standard: String(days(90).milliseconds),
                summary: "how long entries of the audit log stay here after an `audit-upload` job "
                    + "has sent them"),
            OptionDeclaration(
                "retain_files", .duration(days(1)...days(36_600)),
                summary: "how long files stay in `done` of a spool folder; without it they are "
                    + "never deleted, and those in `rejected` never are"),
        ])

    static let auditUpload = JobKindDeclaration(
        JobKind("audit-upload"),
        summary: "sends new entries of the audit log, without values, to a server of your own",
        options: [
            OptionDeclaration(
                "url", .url, isRequired: true,
                summary: "address to which the entries are posted, as NDJSON"),
            OptionDeclaration(
                "page_size", .integer(1...1000), standard: "500",
                summary: "entries in one request"),
            OptionDeclaration(
                "ca_bundle", .path,
                summary: "file with the certificate authorities to trust instead of the system's"),
            OptionDeclaration(
                "pins", .texts,
                summary: "digests `sha256//...` of at least two public keys; the server must "
                    + "present one of them"),
        ], addressKey: "url")
}
