public import ClarityScheduler
import HealthModel

extension JobKind {
    /// The kind that sends the records of the archive to a FHIR server.
    public static let fhirUpload = JobKind("fhir-upload")
}

/// The options of the kind `fhir-upload`.
public struct FHIRUploadOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .fhirUpload,
        summary: "sends the records of the archive to a FHIR server, each once",
        options: declarations, addressKey: "url")

    public var url = ""
    public var allowsPlainHTTP = false
    public var authorities: String?
    /// The variable or credential with the bearer token; `nil` for a server without a login.
    public var secretName: String?
    private var patientText = ""
    /// One type on each line; `nil` for all.
    private var types: String?
    /// The most Observations in a request.
    public var bundle = 200

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "url", .url, &url,
            "base address of the server, such as `https://fhir.example/r4`")
        fields.add(
            OptionDeclaration.plainHTTP, .boolean, &allowsPlainHTTP,
            "whether `url` may be http on another machine, where anybody on the way reads along")
        fields.add(
            "ca_bundle", .path, &authorities,
            "file with the certificate authorities to trust instead of the system's")
        fields.add(
            "secret", .secretName, &secretName,
            "name of the variable or credential with the bearer token; without it no login")
        fields.add(
            required: "patient", .line, &patientText,
            "whose records they are: `Patient/42`, or the system and the value of an identifier")
        fields.add(
            "types", .texts, &types,
            "types to send, such as `HeartRate`; without it all but points of routes and the person's "
                + "own facts")
        fields.add("bundle", .integer(1...500), &bundle, "the most Observations in a request")
        guard !patientText.isEmpty, patient == nil else { return }
        fields.refuse("`patient` is \(FHIRPatient.form), got `\(patientText)`")
    }

    public var patient: FHIRPatient? { FHIRPatient(patientText) }

    /// What tells the receiver from others of the same job.
    public var receiver: String { "\(url) \(patientText)" }

    /// The names of the types that somebody asked for; none for all.
    public var typeNames: [String] { types?.split(separator: "\n").map(String.init) ?? [] }
}
