import JSON

@testable import clarity_jobs_sandbox

/// A service without a socket, with a manual clock and identifiers from a fixed seed.
final class Bench {
    let directory: TemporaryDirectory
    let service: Service
    let clock: StandingClock

    static let start = Timestamp(milliseconds: 1_800_000_000_000)

    init(
        faults: [String] = [], directory: TemporaryDirectory? = nil, steps: Int = 3,
        tokenLife: Duration = .seconds(3600), dialect: Dialect = .blueprint,
        isClockSet: Bool = false, fhir: FHIROptions? = nil
    ) throws {
        let place = try directory ?? TemporaryDirectory()
        var plan = FaultPlan()
        for fault in faults { plan.add(try FaultRule(fault)) }
        let clock = StandingClock()
        var settings = Service.Settings()
        settings.passwordIterations = 2
        settings.processingSteps = steps
        settings.tokenLife = tokenLife
        settings.dialect = dialect
        settings.fhir = fhir
        self.directory = place
        self.clock = clock
        service = try Service(
            store: try Store(directory: place.path), settings: settings,
            routes: dialect.makeRoutes(), faults: plan,
            identifiers: Identifiers(CountingGenerator()), clock: { clock.now },
            setClock: isClockSet ? { clock.now = $0 } : nil)
    }

    func reply(
        _ method: String, _ path: String, _ body: JSON? = nil, token: String? = nil,
        query: [String: String] = [:]
    ) -> Reply {
        service.reply(
            to: Request(
                method: method, path: path.hasPrefix("/_") ? path : "/api/v1" + path,
                query: query, authorization: token.map { "Bearer \($0)" },
                body: body?.bytes ?? []))
    }

    /// Sends a request and returns the status and body of an answer that is delivered whole.
    func call(
        _ method: String, _ path: String, _ body: JSON? = nil, token: String? = nil,
        query: [String: String] = [:]
    ) throws -> (status: Int, body: JSON) {
        guard
            case .whole(let response) = reply(method, path, body, token: token, query: query)
                .delivery
        else { throw Unexpected() }
        return (response.status, try JSONParser.parse(response.body))
    }

    /// Posts plain text and returns the status and body of the answer.
    func post(_ text: String, to path: String) throws -> (status: Int, body: JSON) {
        let reply = service.reply(
            to: Request(method: "POST", path: path, query: [:], body: Array(text.utf8)))
        guard case .whole(let response) = reply.delivery else { throw Unexpected() }
        return (response.status, try JSONParser.parse(response.body))
    }

    func login() throws -> JSON {
        let answer = try call(
            "POST", "/auth/login",
            ["email": .string(Seed.email), "password": .string(Seed.password)])
        guard let tokens = answer.body["tokens"] else { throw Unexpected() }
        return tokens
    }

    /// Logs in the demo user and returns an access token.
    func token() throws -> String { try login()["access_token"].string }

    /// Registers and logs in a second user and returns an access token.
    func strangersToken() throws -> String {
        let registered = try call("POST", "/auth/register", .registration())
        guard registered.status == 201 else { throw Unexpected() }
        let answer = try call(
            "POST", "/auth/login", ["email": "new@example.com", "password": "Fresh-Passw0rd"])
        return try answer.body["tokens"]?["access_token"].string ?? ""
    }

    struct Unexpected: Error {}
}

final class StandingClock {
    var now = Bench.start
}

/// Generates the same distinct numbers in every run, and so the same identifiers.
struct CountingGenerator: RandomNumberGenerator {
    private var state: UInt64 = 0

    mutating func next() -> UInt64 {
        // SplitMix64 from a fixed seed.
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension JSON? {
    var string: String {
        get throws {
            guard case .string(let text)? = self else { throw Bench.Unexpected() }
            return text
        }
    }

    var elements: [JSON] {
        get throws {
            guard case .array(let values)? = self else { throw Bench.Unexpected() }
            return values
        }
    }
}

extension JSON {
    /// Returns the same object with one member changed or added, or removed if `value` is `nil`.
    func with(_ name: String, _ value: JSON?) -> JSON {
        guard case .object(let members) = self else { return self }
        let kept = members.filter { $0.name != name }
        return .object(kept + (value.map { [Member(name: name, value: $0)] } ?? []))
    }

    static func registration() -> JSON {
        [
            "email": "new@example.com", "password": "Fresh-Passw0rd", "first_name": "New",
            "last_name": "Person", "terms_accepted": true, "privacy_policy_accepted": true,
        ]
    }

    /// Returns a UUID that ends in `number`, in hexadecimal.
    static func id(_ number: Int) -> JSON {
        let digits = String(number, radix: 16)
        let zeros = String(repeating: "0", count: 12 - digits.count)
        return .string("aaaaaaaa-bbbb-4ccc-8ddd-" + zeros + digits)
    }

    static func heartRate(_ number: Int, bpm: JSON = 61) -> JSON {
        [
            "metric_id": id(number), "metric_type": "heart_rate",
            "biometric_data": ["heart_rate": bpm],
            "created_at": .time(Bench.start - .seconds(Int64(60 * number))),
        ]
    }

    static func upload(_ metrics: [JSON]) -> JSON {
        [
            "user_id": .string(Seed.user), "metrics": .array(metrics),
            "upload_source": "apple_health", "client_timestamp": .time(Bench.start),
        ]
    }

    /// The `loc` and `type` of each fault of a 422, such as `body.metrics.0.metric_id missing`.
    var faults: [String] {
        get throws {
            try self["detail"].elements.map { fault in
                let path = try fault["loc"].elements.map { step in
                    if case .string(let name) = step { name } else { step.line }
                }
                return path.joined(separator: ".") + " " + (try fault["type"].string)
            }
        }
    }
}
