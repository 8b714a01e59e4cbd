import HealthModel
public import ClarityScheduler

// The sections of a job file that apply to all jobs.

extension SectionDeclaration {
    static let backend = SectionDeclaration(
        "backend", .mapping(BackendOptions.declarations), isRequired: true,
        summary: "the CLARITY backend")

    static let key = SectionDeclaration(
        "key",
        .mapping([
            OptionDeclaration(
                "variable", .variableName,
                summary: "environment variable that holds the master key; without it "
                    + "`CLARITY_JOBS_KEY`")
        ]), isOfAccount: true, summary: "where the master key comes from")

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
                OptionDeclaration(
                    "delete_after_reading", .boolean,
                    summary:
                        "deletes each file once all of it is stored in the outbox and the archive"
                ),
            ],
            "spool": [
                OptionDeclaration(
                    "path", .path, isRequired: true,
                    summary: "folder into which any program moves files of samples")
            ],
        ]), isOfAccount: true, summary: "the files to read")

    /// The maximum age of the data, one goal for each kind; `FreshnessGoal` reads it.
    static let fresh = SectionDeclaration(
        "fresh",
        .mapping(
            SampleKind.allCases.map { kind in
                OptionDeclaration(
                    kind.rawValue, span,
                    summary: "maximum age of the newest sample that the backend has accepted")
            } + [
                OptionDeclaration(
                    "insights", span,
                    summary: "maximum age of the newest insight"),
                OptionDeclaration(
                    "profile", span,
                    summary: "maximum time since the profile was fetched"),
            ]), isOfAccount: true, summary: "how old the newest data may be; `status` checks it")

    private static let span = OptionDeclaration.ValueType.duration(.seconds(60)...days(3660))
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
    /// The limits of all processes together; `nil` for none.
    public var requestsPerSecond: Double?
    public var connections: Int?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "url", .url, &url,
            "address of the backend's API, such as `https://clarity.example/api/v1`")
        fields.add(
            "dialect", .choice(["auto", "blueprint", "loop"]), &dialect,
            "version of the backend; `auto` asks the backend once and remembers the answer")
        fields.add(
            "retry_wait", .duration(.milliseconds(1)...(.seconds(60))), &retryWait,
            "wait before a request is repeated within an attempt; doubles each time")
        fields.add(
            "ca_bundle", .path, &authorities,
            "file with the certificate authorities to trust instead of the system's")
        fields.add(
            "pins", .texts, &pins,
            "digests `sha256//...` of at least two public keys, one of them a backup; the backend "
                + "must present one of them")
        fields.add(
            "max_requests_per_second", .number(0.1...1000), &requestsPerSecond,
            "how many requests all jobs and commands together may begin in a second, spaced "
                + "evenly; `0.5` is one every 2 seconds; without it there is no limit")
        fields.add(
            "max_connections", .integer(1...1000), &connections,
            "how many requests all jobs and commands together may have under way at once; without "
                + "it there is no limit")
    }
}

/// The time zone that the account's days follow.
private let sourceZone = OptionDeclaration(
    "time_zone", .timeZone, isShared: true,
    summary: "time zone that days follow, the same for all sources; without it the machine's at "
        + "the first import")
