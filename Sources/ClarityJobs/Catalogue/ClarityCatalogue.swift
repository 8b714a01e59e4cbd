public import ClarityScheduler

/// What CLARITY's job files may name: six kinds of job, the `backend`, the `sources` and the `key`.
///
/// Data only: the job file's reader checks against it, and the workers read what it hands on.
public let clarityCatalogue = JobCatalogue(
    kinds: [
        JobKindDeclaration(
            JobKind("refresh"),
            summary: "pulls the profile, the metrics and the latest insights",
            options: [
                OptionDeclaration(
                    "page_size", .integer(1...500), standard: "100",
                    summary: "rows asked for at once")
            ]),
        JobKindDeclaration(
            JobKind("bulk-upload"),
            summary: "reads the sources and sends what the backend does not have yet",
            options: [
                OptionDeclaration(
                    "batch_size", .integer(1...1000),
                    summary: "samples sent at once; without it as many as the backend takes"),
                OptionDeclaration(
                    "route", .choice(["auto", "metrics", "samples"]), standard: "auto",
                    summary: "by which of the backend's doors samples go in: as typed metrics or "
                        + "as samples of HealthKit; `auto` takes the one that keeps everything"),
                OptionDeclaration(
                    "on_ambiguous", .choice(["resend", "hold"]), standard: "resend",
                    summary: "what becomes of samples that may have arrived where a second send "
                        + "doubles them: sent again and counted, or set aside for you"),
            ]),
        JobKindDeclaration(
            JobKind("processing-status"),
            summary: "asks what became of accepted uploads",
            options: [
                OptionDeclaration(
                    "give_up_after", .duration(.seconds(1)...days(366)),
                    standard: String(days(7).milliseconds),
                    summary: "how long an upload may stay unfinished before it counts as "
                        + "unconfirmed")
            ]),
        JobKindDeclaration(
            JobKind("insight-history"),
            summary: "pulls every insight that the backend has made",
            options: [
                OptionDeclaration(
                    "page_size", .integer(1...100), standard: "20",
                    summary: "insights asked for at once")
            ]),
        JobKindDeclaration(
            JobKind("cleanup"),
            summary: "removes local copies of what the backend has, and compacts the file",
            options: [
                OptionDeclaration(
                    "retain", .duration(days(1)...days(36_600)),
                    standard: String(days(90).milliseconds),
                    summary: "how long confirmed values stay readable here")
            ]),
        JobKindDeclaration(
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
            ]),
    ],
    sections: [
        SectionDeclaration(
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
            ]), isRequired: true),
        SectionDeclaration(
            "key",
            .mapping([
                OptionDeclaration(
                    "variable", .text,
                    summary: "the variable of the environment that has the master key, in the "
                        + "place of `CLARITY_JOBS_KEY`")
            ])),
        SectionDeclaration(
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
            ])),
    ])

/// On whose clock a source's days begin, where it does not say so itself.
private let sourceZone = OptionDeclaration(
    "time_zone", .timeZone,
    summary: "on whose clock days and nights are told apart; without it this machine's")

private func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
