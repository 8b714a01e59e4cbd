/// What a known FHIR server does where FHIR R4 leaves a choice.
struct FHIRManner: Sendable {
    /// The name for `--fhir`.
    var name: String
    /// Whether `PUT` of an id that does not exist creates the resource (http.html, "Update as
    /// Create").
    var createsByUpdate = true
    /// Whether a client may choose an id of digits alone.
    var takesNumericIDs = true
    /// Whether the ids that the server chooses count from 1; otherwise they are UUIDs.
    var countsIDs = false
    /// Whether a `PUT` that changes nothing leaves the version as it is. HAPI, Medplum and Azure
    /// compare the content; Google documents no comparison, so each `PUT` is a version.
    var keepsUnchangedVersion = true
    /// Whether references in the same server must lead to a resource.
    var checksReferences = false
    /// The most entries of a bundle; `nil` for no limit of this kind.
    var bundleEntries: Int?
    /// The most bytes of a request.
    var requestBytes = 64 << 20
    /// The most bytes of a resource.
    var resourceBytes = 64 << 20
    /// Whether all later entries of a bundle get 429 once one did.
    var throttlesTheRest = false
    /// Whether a 429 has a `Retry-After`.
    var namesRetryAfter = false
    /// Whether the status of an entry is written `201 Created`; otherwise it is the number alone.
    var writesReasons = true
    /// The status of an `If-Match` with another version. FHIR says 412; HAPI answers 409.
    var staleStatus = 412
    /// The status of a resource that breaks a rule.
    var invalidStatus = 400
    /// How many matches a page has without `_count`.
    var pageSize = 20

    /// The available manners.
    static let all: [FHIRManner] = [
        FHIRManner(
            name: "hapi", takesNumericIDs: false, countsIDs: true, checksReferences: true,
            staleStatus: 409, invalidStatus: 422),
        FHIRManner(
            name: "medplum", requestBytes: 50_000_000, resourceBytes: 1 << 20,
            writesReasons: false),
        FHIRManner(
            name: "azure", bundleEntries: 500, throttlesTheRest: true, namesRetryAfter: true,
            writesReasons: false, pageSize: 10),
        FHIRManner(
            name: "google", createsByUpdate: false, keepsUnchangedVersion: false,
            checksReferences: true, requestBytes: 50_000_000, resourceBytes: 10_000_000,
            pageSize: 100),
    ]
}

/// What a FHIR server is started with.
struct FHIROptions: Sendable {
    var manner: FHIRManner
    var login = FHIRLogin.Method.none
    /// The scopes that a client may get, in the form of SMART App Launch 2.2.
    var scope = "system/*.cruds"
    /// How many entries and single interactions are carried out in one second; the others get 429.
    var rate: Int?
    /// How long a search does not find a new resource, as if another request had stored it at the
    /// same time. Conditional creates then store duplicates.
    var searchLag = Duration.zero

    init(manner: FHIRManner) { self.manner = manner }

    /// Takes a switch of `--fhir-with`.
    mutating func take(_ word: String) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        let number = parts.count == 2 ? Int(parts[1]) : nil
        switch (parts.first, number) {
        case ("update-create", nil): manner.createsByUpdate = true
        case ("no-update-create", nil): manner.createsByUpdate = false
        case ("references", nil): manner.checksReferences = true
        case ("no-references", nil): manner.checksReferences = false
        case ("bundle-bytes", let bytes?) where (1...64 << 20).contains(bytes):
            manner.requestBytes = bytes
        case ("rate", let count?) where count > 0: rate = count
        case ("search-lag", nil) where parts.count == 2:
            guard let span = Duration(span: parts[1]) else { fallthrough }
            searchLag = span
        default:
            throw UsageError(
                "switch `\(word)` is unknown; there are update-create, no-update-create, "
                    + "references, no-references, bundle-bytes=N, rate=N and search-lag=SPAN")
        }
    }
}
