import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// A playground without a backend, whose archive has 30 heart rates, and the stand-in FHIR server, to
/// which a job sends 10 at a time. What the server has and was asked is read from its own records.
struct FHIRScene {
    static let records = 30

    let playground: Playground
    let sandbox: Sandbox
    private let patient: String

    /// - Parameters:
    ///   - options: further options of the sandbox.
    ///   - job: further options of the job.
    init(
        _ manner: String = "hapi", options: [String] = [], job: [String] = [],
        hasPatient: Bool = true
    ) async throws {
        // Nobody can choose the id of a patient on a server that chooses the ids.
        let patient = manner == "google" ? "https://clinic.example/mrn|4711" : "Patient/p1"
        self.patient = patient
        playground = try await Playground(sandboxOptions: ["--fhir", manner] + options) {
            url, folder in
            FHIRScene.jobFile(url, folder, patient, job)
        }
        sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: FHIRScene.records)
        let imported = try await playground.run("run", "import")
        #expect(imported.status == 0, "\(imported.errors)")
        if hasPatient, manner != "google" { try await makePatient() }
    }

    /// Gives the job other options.
    func change(_ job: [String]) throws {
        try playground.write { url, folder in FHIRScene.jobFile(url, folder, patient, job) }
    }

    private static func jobFile(
        _ url: String, _ folder: String, _ patient: String, _ job: [String]
    ) -> String {
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
              patient: \(patient)
              bundle: 10
        \(job.map { "      \($0)\n" }.joined())
        """
    }

    func ask(_ method: String, _ path: String, _ body: String = "") async throws -> String {
        try await LoopbackRequest.answer(
            method, path, headers: ["Content-Type": "application/fhir+json"], body: body,
            port: sandbox.port)
    }

    func json(_ path: String) async throws -> JSONValue {
        try JSONValue(try await LoopbackRequest.send("GET", path, port: sandbox.port))
    }

    func makePatient() async throws {
        let answer = try await ask(
            "PUT", "/fhir/Patient/p1", #"{"resourceType":"Patient","id":"p1"}"#)
        #expect(answer.hasPrefix("HTTP/1.1 201"), "\(answer)")
    }

    /// What the server has: the number of versions of each Observation, by its id.
    func stored(_ type: String = "Observation") async throws -> [String: Int] {
        let list = try await json("/_sandbox/fhir/resources?limit=1000")["resources"]
        var versions: [String: Int] = [:]
        for one in list.elements where one["type"].text == type {
            versions[try #require(one["id"].text)] = one["versions"].number.map { Int($0) }
        }
        return versions
    }

    /// The Observations as a client reads them.
    func observations() async throws -> [JSONValue] {
        try await json("/fhir/Observation?_count=1000")["entry"].elements
            .map { $0["resource"] }
    }

    func requests() async throws -> [JSONValue] {
        try await json("/_sandbox/fhir/requests?limit=1000")["requests"].elements
    }

    func send() async throws -> ProgramResult {
        try await playground.run("run", "clinic", "--force")
    }

    /// Imports an export with so many heart rates.
    func grow(to count: Int) async throws {
        try playground.writeExport(heartRates: count)
        let imported = try await playground.run("run", "import", "--force")
        #expect(imported.status == 0, "\(imported.errors)")
    }
}
