import ClarityScheduler

// The sections of a job file that apply to all jobs.

extension SectionDeclaration {
    static let backend = SectionDeclaration(
        "backend",
        .mapping([
            OptionDeclaration(
                "url", .url, isRequired: true,
                summary: "where the backend's API begins, such as "
                    + "`https://clarity.example/api/v1`"),
            OptionDeclaration(
                "dialect", .choice(["auto", "blueprint", "loop"]), standard: "auto",
                summary: "the contract that the backend keeps; `auto` asks it once and "
                    + "remembers"),
            OptionDeclaration(
                "retry_wait", .duration(.milliseconds(1)...(.seconds(60))), standard: "1000",
                summary: "the first wait before a request is repeated; it doubles each time"),
            OptionDeclaration(
                "ca_bundle", .path,
                summary: "a file with the certificates of the authorities to trust in the "
                    + "place of the system's"),
            OptionDeclaration(
                "pins", .texts,
                summary: "the digests `sha256//...` of at least two public keys, a backup "
                    + "among them, of which the backend has one"),
        ]), isRequired: true)

    static let key = SectionDeclaration(
        "key",
        .mapping([
            OptionDeclaration(
                "variable", .text,
                summary: "the variable of the environment that has the master key, in the "
                    + "place of `CLARITY_JOBS_KEY`")
        ]))

    static let sources = SectionDeclaration(
        "sources",
        .list(kinds: [
            "apple-health-export": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "the zip that the Health app exports, or its `export.xml`"),
                sourceZone,
                OptionDeclaration(
                    "prefer", .texts,
                    summary: "the devices or apps whose steps, energy and sleep count first "
                        + "where several tell of the same time, by their names in the export"),
                OptionDeclaration(
                    "since", .dateOrInstant,
                    summary: "what began before is not taken; a date begins at its midnight"),
            ],
            "health-auto-export": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "a JSON file of Health Auto Export, or a folder of such files"),
                sourceZone,
            ],
            "spool": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "a folder into which any program moves files of samples")
            ],
        ]))
}

/// The time zone that the account's days follow.
private let sourceZone = OptionDeclaration(
    "time_zone", .timeZone, isShared: true,
    summary: "the time zone that days follow, the same for all sources; without it this "
        + "machine's at the first reading")
