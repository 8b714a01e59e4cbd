import ClarityScheduler

// The sections of a job file that apply to all jobs.

extension SectionDeclaration {
    static let backend = SectionDeclaration(
        "backend",
        .mapping([
            OptionDeclaration(
                "url", .url, isRequired: true,
                summary: "address of the backend's API, such as `https://clarity.example/api/v1`"),
            OptionDeclaration(
                "dialect", .choice(["auto", "blueprint", "loop"]), standard: "auto",
                summary: "version of the backend; `auto` asks the backend once and remembers the "
                    + "answer"),
            OptionDeclaration(
                "retry_wait", .duration(.milliseconds(1)...(.seconds(60))), standard: "1000",
                summary: "wait before a request is repeated within an attempt; doubles each time"),
            OptionDeclaration(
                "ca_bundle", .path,
                summary: "file with the certificate authorities to trust instead of the system's"),
            OptionDeclaration(
                "pins", .texts,
                summary: "digests `sha256//...` of at least two public keys, one of them a "
                    + "backup; the backend must present one of them"),
        ]), isRequired: true, summary: "the CLARITY backend")

    static let key = SectionDeclaration(
        "key",
        .mapping([
            OptionDeclaration(
                "variable", .text,
                summary: "environment variable that holds the master key; without it "
                    + "`CLARITY_JOBS_KEY`")
        ]), summary: "where the master key comes from")

    static let sources = SectionDeclaration(
        "sources",
        .list(kinds: [
            "apple-health-export": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "zip file that the Health app exports, or its `export.xml`"),
                sourceZone,
                OptionDeclaration(
                    "prefer", .texts,
                    summary: "names of devices or apps, as in the export, whose records take "
                        + "precedence in days and nights"),
                OptionDeclaration(
                    "since", .dateOrInstant,
                    summary: "ignores records that began earlier; a date begins at its midnight"),
            ],
            "health-auto-export": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "JSON file of Health Auto Export, or a folder of such files"),
                sourceZone,
            ],
            "spool": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "folder into which any program moves files of samples")
            ],
        ]), summary: "the files to read")
}

/// The time zone that the account's days follow.
private let sourceZone = OptionDeclaration(
    "time_zone", .timeZone, isShared: true,
    summary: "time zone that days follow, the same for all sources; without it the machine's at "
        + "the first import")
