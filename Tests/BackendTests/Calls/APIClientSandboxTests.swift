import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

/// Tests the client against the real sandbox, a separate process, in both dialects.
struct APIClientSandboxTests {
    /// A dialect, and the options with which the sandbox serves it.
    struct Service: Sendable, CustomTestStringConvertible {
        let dialect: Dialect
        let options: [String]
        /// Whether the sandbox behaves like the deployed backend, except for the limiter's crash.
        var isMeasured: Bool { options.contains("repaired") }
        var testDescription: String { options.joined(separator: " ") }
    }

    static let services = [
        Service(dialect: .blueprint, options: ["--dialect", "blueprint"]),
        Service(dialect: .loop, options: ["--dialect", "loop"]),
        Service(dialect: .loop, options: ["--dialect", "loop", "--quirks", "repaired"]),
    ]

    /// Starts a sandbox and logs a client in as the sandbox's own user.
    private func logIn(
        to service: Service, _ body: (APIClient, Session) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let sandbox = try SandboxProcess(folder.path, service.options)
        let url = try await sandbox.url()
        let client = APIClient(
            base: url, dialect: .auto, memory: NoDialectMemory(),
            transport: try CurlTransport(version: "1"), sessions: MemorySessions(),
            clock: ManualClock(morning))
        let session = try await client.login(
            email: "demo@example.com", password: Secret("Demo-Passw0rd!"))
        try await body(client, session)
        withExtendedLifetime(sandbox) {}
    }

    @Test(arguments: services)
    func `a login, the account and a logout`(service: Service) async throws {
        try await logIn(to: service) { client, session in
            let profile = try await client.me()
            let spoken = try await client.requests.dialect

            #expect(spoken == service.dialect)
            #expect(profile.userID == session.userID)
            #expect(session.email == "demo@example.com")
            #expect(profile.email == (service.isMeasured ? nil : "demo@example.com"))
            try await client.logout()
        }
    }

    @Test(arguments: services)
    func `a wrong password is refused`(service: Service) async throws {
        try await logIn(to: service) { client, _ in
            let met = await failure { () throws(APIError) in
                try await client.login(email: "demo@example.com", password: Secret("wrong"))
            }

            #expect(met == (service.dialect == .loop ? .loginUnclear : .unauthorized))
        }
    }

    @Test(arguments: services)
    func `metrics of every accepted type are taken`(service: Service) async throws {
        try await logIn(to: service) { client, session in
            let rules = try await client.endpoint(.metrics)
            let samples = SampleKind.allCases.filter { rules.metricType(of: $0) != nil }.map {
                plausible($0)
            }

            let receipt = try await client.upload(batch(samples, of: session, by: .metrics))
            let status = try await client.processing(try #require(receipt.processingID))

            #expect(samples.allSatisfy { rules.refusal(of: $0, at: morning) == nil })
            #expect(receipt.accepted == samples.count && receipt.unexplained == 0)
            #expect(!receipt.isStored)
            #expect(
                service.isMeasured
                    ? status.state == .stored
                    : [.received, .processing].contains(status.state))
            let again = try await client.upload(batch(samples, of: session, by: .metrics))
            #expect(
                again.duplicates.count
                    == (rules.isIdempotent || !service.isMeasured ? samples.count : 0))
        }
    }

    @Test(arguments: services)
    func `samples of every kind are taken`(service: Service) async throws {
        try await logIn(to: service) { client, session in
            let samples = SampleKind.allCases.map { plausible($0) }

            let receipt = try await client.upload(batch(samples, of: session, by: .samples))
            let id = try #require(receipt.processingID)
            let status = try await client.processing(id, route: .samples)

            #expect(receipt.accepted == samples.count)
            #expect(receipt.isStored == (service.dialect == .loop))
            #expect([.received, .processing].contains(status.state))
            #expect(status.progress == nil || service.dialect == .blueprint)
        }
    }

    @Test(arguments: services)
    func `health data is read page by page`(service: Service) async throws {
        try await logIn(to: service) { client, _ in
            var rows = 0
            var cursor: String?
            repeat {
                let page = try await client.healthDataPage(limit: 5, cursor: cursor)
                rows += page.rows.count
                #expect(page.unreadableRows == 0)
                cursor = page.nextCursor
            } while cursor != nil

            #expect(rows == (service.isMeasured ? 0 : 12))
        }
    }

    @Test(arguments: services)
    func `an insight is made and turns up in the history`(service: Service) async throws {
        try await logIn(to: service) { client, session in
            let made = try await client.generateInsight(
                InsightRequest(results: ["sleep_efficiency": 91]))
            let page = try await client.insightsPage(
                user: session.userID.uppercased().lowercased(), limit: 10, offset: 20)

            #expect(made.state == (service.dialect == .blueprint ? .generating : .completed))
            #expect(page.unreadableRows == 0)
            #expect(!page.hasMore)
            if let id = made.id {
                #expect(try await client.insight(id).id == id)
            }
        }
    }

    @Test func `a dead insight is not found, and one that is there is read`() async throws {
        for service in APIClientSandboxTests.services {
            try await logIn(to: service) { client, session in
                let page = try await client.insightsPage(
                    user: session.userID, limit: 1, offset: 0)
                let id = try #require(page.rows.first?.id)

                let met = await failure { () throws(APIError) in try await client.insight(id) }
                let status = await failure { () throws(APIError) in
                    try await client.insightStatus()
                }

                #expect(met == (service.isMeasured ? .notFound : nil))
                if case .knownFault(let fault, status: let number) = status {
                    #expect(service.isMeasured && fault.subject == "insights" && number == 404)
                } else {
                    #expect(!service.isMeasured && status == nil)
                }
            }
        }
    }

    @Test(arguments: services)
    func `recordings are analysed`(service: Service) async throws {
        try await logIn(to: service) { client, _ in
            let steps = try await client.analyse(
                StepRecording(start: morning - .seconds(86_400), counts: [10, 0, 40]))
            let movement = try await client.analyse(
                ActigraphyRecording(points: [
                    .init(time: morning - .seconds(86_400), value: 1.5),
                    .init(time: morning - .seconds(80_000), value: 0.5),
                ]))
            let later = try await client.analysis(steps.id)
            let unknown = try await client.analysis("00000000-0000-4000-8000-000000000000")

            let isDone = service.dialect == .loop
            #expect(steps.state == (isDone ? .completed : .received))
            #expect(movement.state == (isDone ? .completed : .received))
            #expect(
                later.state
                    == (service.isMeasured ? .notFound : isDone ? .completed : .processing))
            #expect(unknown.state == .notFound)
            #expect(try await client.actigraphyHealth().isHealthy)
            #expect(try await client.serviceHealth().isHealthy)
        }
    }

    @Test func `an outage behind the deployed backend is told from a mistake`() async throws {
        let service = Service(
            dialect: .loop,
            options: [
                "--dialect", "loop", "--quirks", "repaired", "--fault",
                "POST /health-data: outage x3", "--fault", "GET /health-data: outage x3",
            ])
        try await logIn(to: service) { client, session in
            let upload = await failure { () throws(APIError) in
                try await client.upload(batch([plausible(.steps)], of: session, by: .metrics))
            }
            let list = await failure { () throws(APIError) in
                try await client.healthDataPage(limit: 5)
            }

            #expect(upload == .unavailable(status: 400))
            #expect(list == .unavailable(status: 400))
        }
    }

    @Test func `an account is changed, and its health data removed`() async throws {
        try await logIn(to: APIClientSandboxTests.services[1]) { client, session in
            let receipt = try await client.upload(
                batch([plausible(.steps)], of: session, by: .metrics))

            let profile = try await client.updateMe(displayName: "Ada")
            try await client.deleteHealthData(try #require(receipt.processingID))
            let gone = await failure { () throws(APIError) in
                try await client.processing(receipt.processingID ?? "")
            }

            #expect(profile.displayName == "Ada")
            #expect(gone == .notFound)
        }
    }

    @Test(arguments: services)
    func `a registration is what the dialect makes of it`(service: Service) async throws {
        try await logIn(to: service) { client, _ in
            let registration = Registration(
                email: "new@example.com", password: Secret("Invented-1"), firstName: "New",
                lastName: "Person", displayName: "New Person", acceptsTerms: true)

            var needsVerification: Bool?
            let met = await failure { () throws(APIError) in
                needsVerification = try await client.register(registration).needsVerification
            }
            let again = await failure { () throws(APIError) in
                try await client.register(registration)
            }

            #expect(met == (service.isMeasured ? .signupClosed : nil))
            #expect(again == (service.isMeasured ? .signupClosed : .accountExists))
            if service.dialect == .blueprint { #expect(needsVerification == true) }
        }
    }

    @Test func `a forgotten password is replaced by a code from a mail`() async throws {
        let folder = try TemporaryFolder()
        let sandbox = try SandboxProcess(folder.path, ["--dialect", "loop"])
        let url = try await sandbox.url()
        let client = APIClient(
            base: url, dialect: .loop, transport: try CurlTransport(version: "1"),
            sessions: MemorySessions(), clock: ManualClock(morning))

        try await client.forgotPassword("demo@example.com")
        let port = try #require(UInt16(url.split(separator: ":")[2].prefix { $0.isNumber }))
        let mail = try await LoopbackRequest.send("GET", "/_sandbox/mail", port: port)
        let code = try #require(mail.split(separator: "\"code\":\"").last).prefix { $0 != "\"" }
        let refused = await failure { () throws(APIError) in
            try await client.resetPassword(
                "demo@example.com", code: Secret("no code"), newPassword: Secret("Invented-2"))
        }
        try await client.resetPassword(
            "demo@example.com", code: Secret(String(code)), newPassword: Secret("Invented-2"))
        let session = try await client.login(
            email: "demo@example.com", password: Secret("Invented-2"))

        #expect(refused == .codeRefused)
        #expect(session.email == "demo@example.com")
        withExtendedLifetime(sandbox) {}
    }

    private func batch(
        _ samples: [Sample], of session: Session, by route: UploadRoute
    ) -> UploadBatch {
        UploadBatch(
            id: "1", userID: session.userID, clientTimestamp: morning - .seconds(60),
            metrics: samples.map { UploadMetric(id: id(of: $0), sample: $0) }, route: route)
    }

    /// Returns a UUID that depends on the sample alone (FNV-1a).
    private func id(of sample: Sample) -> String {
        let hash = sample.identity.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let digits = String(UInt64(1) << 63 | hash, radix: 16)
        return "00000000-0000-8000-\(digits.prefix(4))-\(digits.suffix(12))"
    }

    /// Makes an invented sample that every backend accepts.
    private func plausible(_ kind: SampleKind) -> Sample {
        let start = Instant(secondsSince1970: 1_700_000_000)
        let value: Sample.Value =
            switch kind {
            case .oxygenSaturation: .single(97.5)
            case .respiratoryRate: .single(14)
            case .bodyTemperature: .single(36.6)
            default: testValue(kind, 60)
            }
        return Sample(kind: kind, start: start, end: start + .seconds(3600), value: value)
    }
}

/// A running `clarity-jobs-sandbox`, which ends with its owner.
private final class SandboxProcess: Sendable {
    private let program: ChildProgram

    init(_ folder: String, _ options: [String]) throws {
        program = try ChildProgram(
            "\(ChildProgram.folder)/clarity-jobs-sandbox",
            ["--listen", "127.0.0.1:0", "--data", "\(folder)/data", "--exit-with-stdin"] + options,
            environment: [:])
    }

    /// Waits until the sandbox is ready, and returns the base URL of its API.
    func url() async throws -> String {
        let ready = try #require(await program.readLine(), "the sandbox did not start")
        return try #require(ready.split(separator: " ").last.map(String.init))
    }
}
