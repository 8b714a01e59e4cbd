import ClarityScheduler

// The kinds that keep the state directory small and auditable.

extension JobKindDeclaration {
    static let cleanup = JobKindDeclaration(
        JobKind("cleanup"),
        summary: "removes local copies of what the backend has, and compacts the file",
        options: [
            OptionDeclaration(
                "retain", .duration(days(1)...days(36_600)),
                standard: String(days(90).milliseconds),
                summary: "how long confirmed values stay readable here"),
            OptionDeclaration(
                "retain_audit", .duration(days(1)...days(36_600)),
                standard: String(days(90).milliseconds),
                summary: "how long entries of the audit log stay here that were uploaded"),
            OptionDeclaration(
                "retain_files", .duration(days(1)...days(36_600)),
                summary: "how long the files stay that a spool folder has moved to `done`, not "
                    + "those in `rejected`; without it, for ever"),
        ])

    static let auditUpload = JobKindDeclaration(
        JobKind("audit-upload"),
        summary: "sends the audit log's new entries, kinds and counts only, to a place of your "
            + "own",
        options: [
            OptionDeclaration(
                "url", .url, isRequired: true,
                summary: "where the entries are posted, as NDJSON"),
            OptionDeclaration(
                "page_size", .integer(1...1000), standard: "500",
                summary: "entries sent at once"),
            OptionDeclaration(
                "ca_bundle", .path,
                summary: "a file with the certificates of the authorities to trust for that "
                    + "place"),
            OptionDeclaration(
                "pins", .texts,
                summary: "the digests `sha256//...` of at least two public keys of which that "
                    + "place has one"),
        ], addressKey: "url")
}
