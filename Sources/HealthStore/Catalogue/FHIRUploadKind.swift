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

    /// How a client says who it is.
    public enum Login: String, CaseIterable, Sendable {
        case none
        /// A token that somebody made and that does not change.
        case bearer
        /// A token for a client and its secret (RFC 6749, section 2.3.1).
        case clientSecret = "client-secret"
        /// A token for what the client signs (SMART Backend Services).
        case privateKey = "private-key"
    }

    public var url = ""
    public var allowsPlainHTTP = false
    public var authorities: String?
    /// One digest on each line.
    public var pins: String?
    private var loginWord: String?
    /// The variable or credential with the token, the client's secret or its private key.
    public var secretName: String?
    /// The path of a file with the private key.
    public var keyPath: String?
    private var client: String?
    /// The address that gives tokens; `nil` for the one that the server names.
    public var tokenURL: String?
    private var scopes: String?
    /// Whether a person deletes at the server what was sent.
    public var isErasing = false
    private var patientText = ""
    /// One type on each line; `nil` for all.
    private var types: String?
    private var grainName: String?
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
            "pins", .texts, &pins,
            "digests `sha256//...` of at least two public keys; the server, and the one that gives "
                + "tokens, must present one of them")
        fields.add(
            "login", .choice(Login.allCases.map(\.rawValue)), &loginWord,
            "how the job logs in; without it `bearer` if there is a `secret`, else `none`")
        fields.add(
            "secret", .secretName, &secretName,
            "name of the variable or credential with the bearer token, the client's secret or its "
                + "private key")
        fields.add(
            "key", .path, &keyPath,
            "with `login: private-key`: file with the key, as `clarity-jobs fhir keygen` makes it")
        fields.add(
            "client_id", .line, &client,
            "with `login: client-secret` or `private-key`: name of the job at the server")
        fields.add(
            "token_url", .url, &tokenURL,
            "with a `client_id`: address that gives tokens; without it the one that the server names "
                + "at `.well-known/smart-configuration`")
        fields.add(
            "scope", .line, &scopes,
            "with a `client_id`: what the token is to allow; without it "
                + "`\(FHIRUploadOptions.defaultScope)`")
        fields.add(
            required: "patient", .line, &patientText,
            "whose records they are: `Patient/42`, or the system and the value of an identifier")
        fields.add(
            "types", .texts, &types,
            "types to send, such as `HeartRate`; without it all but points of routes and the person's "
                + "own facts")
        fields.add(
            "grain", .choice(FHIRGrain.allCases.map(\.rawValue)), &grainName,
            "`single` sends each record, `hourly` the readings of an hour together, `days` the days and "
                + "nights instead of their records; without it `single`")
        fields.add("bundle", .integer(1...500), &bundle, "the most Observations in a request")
        if let loginFault { fields.refuse(loginFault) }
        guard !patientText.isEmpty, patient == nil else { return }
        fields.refuse("`patient` is \(FHIRPatient.form), got `\(patientText)`")
    }

    /// What an upload does (SMART App Launch 2.2, "Scopes"): it writes Observations under ids of its
    /// own, where an update may be a creation, looks up those in doubt, and checks the patient.
    private static let defaultScope =
        "system/Observation.cus system/Device.cus system/Patient.r"
    /// What `fhir erase` wants instead.
    private static let erasingScope =
        "system/Observation.cuds system/Device.cuds system/Patient.r"

    public var login: Login {
        loginWord.flatMap { Login(rawValue: $0) } ?? (secretName == nil ? .none : .bearer)
    }

    public var clientID: String { client ?? "" }
    public var scope: String {
        scopes ?? (isErasing ? Self.erasingScope : Self.defaultScope)
    }

    /// What of the login does not fit together; `nil` also while the options are not read yet.
    private var loginFault: String? {
        let ofClient = [("client_id", client), ("token_url", tokenURL), ("scope", scopes)]
        switch login {
        case .none where secretName != nil: return "`login: none` has no `secret`"
        case .bearer where secretName == nil: return "`login: bearer` wants a `secret`, the token"
        case .none, .bearer:
            if let option = ofClient.first(where: { $0.1 != nil }) {
                return "option `\(option.0)` is for `login: client-secret` or `private-key`"
            }
        case .clientSecret, .privateKey:
            if client == nil {
                return
                    "`login: \(login.rawValue)` wants a `client_id`, the job's name at the server"
            }
            if scope.contains(where: { !$0.isASCII || "\"\\".contains($0) }) {
                return "option `scope` has a character that no scope has; wanted words such as "
                    + "`system/Observation.cu`"
            }
        }
        if login != .privateKey {
            if keyPath != nil { return "option `key` is for `login: private-key`" }
        } else if (keyPath == nil) == (secretName == nil) {
            return "`login: private-key` wants one of `key`, a file, and `secret`, a credential"
        }
        if login == .clientSecret, secretName == nil {
            return "`login: client-secret` wants a `secret`, the client's"
        }
        return nil
    }

    public var patient: FHIRPatient? { FHIRPatient(patientText) }

    public var grain: FHIRGrain { grainName.flatMap(FHIRGrain.init) ?? .single }

    /// What tells the receiver from others of the same job.
    public var receiver: String { "\(url) \(patientText)" }

    /// The names of the types that somebody asked for; none for all.
    public var typeNames: [String] { types?.split(separator: "\n").map(String.init) ?? [] }
}
