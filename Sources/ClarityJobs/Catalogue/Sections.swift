public import ClarityScheduler

// The sections of a job file that apply to all jobs.

extension SectionDeclaration {
    static let backend = SectionDeclaration(
        "backend", .mapping(BackendOptions.declarations), isRequired: true)

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

    /// The maximum age of the data, one goal for each kind; `FreshnessGoal` reads it.
    static let fresh = SectionDeclaration(
        "fresh",
        .mapping(
            SampleKind.allCases.map { kind in
                OptionDeclaration(
                    kind.rawValue, span,
                    summary: "how old the newest sample may be that the backend has taken")
            } + [
                OptionDeclaration(
                    "insights", span, summary: "how old the newest insight may be"),
                OptionDeclaration(
                    "profile", span, summary: "how long ago the profile may have been pulled"),
            ]))

    private static let span = OptionDeclaration.Form.duration(.seconds(60)...days(3660))
}

/// The keys of the section `backend`.
public struct BackendOptions: DeclaredOptions {
    public var url = ""
    /// The name of a dialect, or `auto`.
    public var dialect = "auto"
    /// The wait before the first retry of a request.
    public var retryWait = Duration.seconds(1)
    public var authorities: String?
    /// One digest on each line.
    public var pins: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "url", .url, &url,
            "where the backend's API begins, such as `https://clarity.example/api/v1`")
        fields.add(
            "dialect", .choice(["auto", "blueprint", "loop"]), &dialect,
            "the contract that the backend keeps; `auto` asks it once and remembers")
        fields.add(
            "retry_wait", .duration(.milliseconds(1)...(.seconds(60))), &retryWait,
            "the first wait before a request is repeated; it doubles each time")
        fields.add(
            "ca_bundle", .path, &authorities,
            "a file with the certificates of the authorities to trust in the place of the system's")
        fields.add(
            "pins", .texts, &pins,
            "the digests `sha256//...` of at least two public keys, a backup among them, of which "
                + "the backend has one")
    }
}

/// The time zone that the account's days follow.
private let sourceZone = OptionDeclaration(
    "time_zone", .timeZone, isShared: true,
    summary: "the time zone that days follow, the same for all sources; without it this "
        + "machine's at the first reading")
