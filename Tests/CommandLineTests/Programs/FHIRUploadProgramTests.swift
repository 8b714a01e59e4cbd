import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// The kind `fhir-upload` against the stand-in FHIR server, judged by what that server has stored and
/// by its own log of requests.
@Suite("Upload to a FHIR server", .timeLimit(.minutes(5)))
struct FHIRUploadProgramTests {
    private static let records = 30

    /// A playground without a backend, with 30 heart rates and a job that sends 10 at a time.
    ///
    /// - Parameter options: further options of the sandbox.
    private func playground(
        manner: String = "hapi", _ options: [String] = [], with job: String = ""
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: ["--fhir", manner] + options) {
            url, folder in
            """
            version: 1
            sources:
              - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
            jobs:
              - { id: import, kind: import, schedule: 1h }
              - id: clinic
                kind: fhir-upload
                schedule: 1h
                options:
                  url: \(url.replacing("/api/v1", with: "/fhir"))
                  patient: Patient/p1
                  bundle: 10
            \(job)

            """
        }
        try playground.writeExport(heartRates: Self.records)
        let imported = try await playground.run("run", "import")
        #expect(imported.status == 0, "\(imported.errors)")
        return playground
    }

    private func ask(
        _ playground: Playground, _ method: String, _ path: String, _ body: String = ""
    ) async throws -> String {
        let port = try #require(playground.sandbox).port
        return try await LoopbackRequest.send(method, path, body: body, port: port)
    }

    private func makePatient(_ playground: Playground) async throws {
        let patient = #"{"resourceType":"Patient","id":"p1"}"#
        let answer = try await LoopbackRequest.answer(
            "PUT", "/fhir/Patient/p1", headers: ["Content-Type": "application/fhir+json"],
            body: patient, port: try #require(playground.sandbox).port)
        #expect(answer.hasPrefix("HTTP/1.1 201"), "\(answer)")
    }

    /// What the server has: the number of versions of each Observation, by its id.
    private func stored(_ playground: Playground) async throws -> [String: Int] {
        let text = try await ask(playground, "GET", "/_sandbox/fhir/resources?limit=1000")
        var versions: [String: Int] = [:]
        for one in try JSONValue(text)["resources"].elements where one["type"].text == "Observation"
        {
            versions[try #require(one["id"].text)] = one["versions"].number.map { Int($0) }
        }
        return versions
    }

    private func requests(_ playground: Playground) async throws -> [JSONValue] {
        let text = try await ask(playground, "GET", "/_sandbox/fhir/requests?limit=1000")
        return try JSONValue(text)["requests"].elements
    }

    @Test(arguments: ["hapi", "medplum", "azure"])
    func `each record is stored once, and a second run asks nothing`(
        manner: String
    ) async throws {
        let playground = try await playground(manner: manner)
        try await makePatient(playground)

        let first = try await playground.run("run", "clinic")
        let sent = try await requests(playground)
        let second = try await playground.run("run", "clinic", "--force")

        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.contains("30 observations sent"), "\(first.output)")
        let stored = try await stored(playground)
        #expect(stored.count == Self.records && stored.values.allSatisfy { $0 == 1 })
        let bundles = sent.filter { $0["method"].text == "POST" }
        #expect(bundles.map { $0["entries"].elements.count } == [10, 10, 10])
        #expect(second.status == 0 && second.output.contains("nothing to do"), "\(second.output)")
        #expect(try await requests(playground).count == sent.count)
        let log = try await playground.run("audit", "log")
        #expect(log.output.contains("records of HeartRate 30"), "\(log.output)")
    }

    @Test func `what is new since the last run is sent alone`() async throws {
        let playground = try await playground()
        try await makePatient(playground)
        _ = try await playground.run("run", "clinic")
        let before = try await stored(playground)

        try playground.writeExport(heartRates: Self.records + 5)
        _ = try await playground.run("run", "import", "--force")
        let again = try await playground.run("run", "clinic", "--force")

        #expect(again.output.contains("5 observations sent"), "\(again.output)\(again.errors)")
        let after = try await stored(playground)
        #expect(after.count == Self.records + 5 && after.values.allSatisfy { $0 == 1 })
        #expect(before.keys.allSatisfy { after[$0] != nil })
    }

    @Test(arguments: ["POST /: pass, drop", "POST /: pass, truncate", "POST /: pass, garbage"])
    func `a bundle whose answer is lost is looked up and not sent again`(
        fault: String
    ) async throws {
        let playground = try await playground(manner: "azure")
        try await makePatient(playground)
        try await #require(playground.sandbox).addFault(fault)

        let first = try await playground.run("run", "clinic")
        let again = try await playground.run("run", "clinic", "--force")

        #expect(first.status == 75 || first.status == 69, "\(first.output)\(first.errors)")
        #expect(again.status == 0, "\(again.errors)")
        let stored = try await stored(playground)
        #expect(stored.count == Self.records && stored.values.allSatisfy { $0 == 1 })
        let log = try await requests(playground)
        #expect(log.contains { $0["url"].text?.contains("_id=") ?? false })
        // Each entry was carried out once; a bundle that is answered with garbage is not read.
        #expect(log.reduce(0) { $0 + $1["entries"].elements.count } == Self.records)
    }

    @Test func `after an entry that came too fast, it and all that follow wait`() async throws {
        let playground = try await playground(manner: "azure")
        try await makePatient(playground)
        try await #require(playground.sandbox).addFault("PUT /Observation/*: pass x14, 429")

        let first = try await playground.run("run", "clinic")
        let kept = try await stored(playground)
        let again = try await playground.run("run", "clinic", "--force")

        #expect(first.status != 0 && first.errors.contains("answers 429"), "\(first.errors)")
        // Others were on their way at the same moment.
        #expect((14..<Self.records).contains(kept.count), "\(kept.count)")
        #expect(again.status == 0, "\(again.errors)")
        let stored = try await stored(playground)
        #expect(stored.count == Self.records && stored.values.allSatisfy { $0 == 1 })
    }

    @Test func `a refused record is named by its code and not sent again`() async throws {
        let playground = try await playground()
        try await makePatient(playground)
        try await #require(playground.sandbox).addFault("PUT /Observation/*: pass x3, 422 x2")

        let first = try await playground.run("run", "clinic")
        let asked = try await requests(playground).count
        let again = try await playground.run("run", "clinic", "--force")

        #expect(first.status == 1, "\(first.errors)")
        #expect(
            first.errors.contains("refused 2 resources for what they say"), "\(first.errors)")
        // What the server says beside the code may repeat a value.
        #expect(!first.errors.contains("diagnostics") && !first.output.contains("diagnostics"))
        #expect(again.status == 0)
        #expect(try await requests(playground).count == asked)
        #expect(try await stored(playground).count == Self.records - 2)
    }

    @Test func `a refusal is noted where the attempt ends for another reason`() async throws {
        let playground = try await playground()
        try await makePatient(playground)
        try await #require(playground.sandbox).addFault("PUT /Observation/*: 422, pass x3, 429")

        let first = try await playground.run("run", "clinic")

        #expect(first.errors.contains("answers 429"), "\(first.errors)")
        let notes = try await playground.history("clinic").flatMap(\.notes)
        #expect(
            notes.contains { $0.contains("refused 1 resource for what they say") }, "\(notes)")
    }

    @Test func `a bundle that is too large is halved`() async throws {
        let playground = try await playground()
        try await makePatient(playground)
        try await #require(playground.sandbox).addFault("POST /: 413")

        let result = try await playground.run("run", "clinic")

        #expect(result.status == 0, "\(result.errors)")
        #expect(try await stored(playground).count == Self.records)
    }

    @Test func `nothing is sent of a patient whom the server does not know`() async throws {
        let playground = try await playground()

        let result = try await playground.run("run", "clinic")

        #expect(result.status == 78 || result.status == 1, "\(result.status)")
        #expect(result.errors.contains("has no `Patient/p1`"), "\(result.errors)")
        #expect(try await requests(playground).allSatisfy { $0["method"].text == "GET" })
    }

    @Test func `a token goes with each request, and a refused one is said`() async throws {
        let playground = try await playground(["--fhir-login", "token:right"])
        func use(_ token: String) async throws -> ProgramResult {
            try playground.write { url, folder in
                """
                version: 1
                sources:
                  - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
                jobs:
                  - id: clinic
                    kind: fhir-upload
                    schedule: 1h
                    options:
                      url: \(url.replacing("/api/v1", with: "/fhir"))
                      patient: https://clinic.example/mrn|4711
                      secret: FHIR_TOKEN

                """
            }
            return try await playground.run(
                "run", "clinic", "--force", environment: ["FHIR_TOKEN": token])
        }

        let wrong = try await use("wrong-token")
        let right = try await use("right")

        #expect(wrong.status == 77, "\(wrong.status) \(wrong.errors)")
        #expect(wrong.errors.contains("it refuses the token"), "\(wrong.errors)")
        #expect(!wrong.errors.contains("wrong-token"))
        #expect(right.status == 0, "\(right.errors)")
        #expect(try await stored(playground).count == Self.records)
    }

    @Test func `a dry run says what would be sent, and sends nothing`() async throws {
        let playground = try await playground()
        try await makePatient(playground)
        let asked = try await requests(playground).count

        let result = try await playground.run("dry-run", "clinic")

        #expect(result.output.contains("would send 30 Observations of 1 type"), "\(result.output)")
        #expect(try await requests(playground).count == asked)
    }

    @Test func `a killed attempt loses nothing and stores nothing twice`() async throws {
        let playground = try await playground(manner: "azure")
        try await makePatient(playground)
        try await #require(playground.sandbox).addFault("POST /: pass, hang")

        let loop = try playground.start(["run", "clinic", "--force"])
        let sandbox = try #require(playground.sandbox)
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        for worker in ProcessTable.children(of: loop.processID) { kill(worker, SIGKILL) }
        _ = await loop.finish()
        try await sandbox.clearFaults()
        let again = try await playground.run("run", "clinic", "--force")

        #expect(again.status == 0, "\(again.errors)")
        let stored = try await stored(playground)
        #expect(stored.count == Self.records && stored.values.allSatisfy { $0 == 1 })
    }
}
