import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// The kind `fhir-upload` against the stand-in FHIR server, judged by what that server has stored and
/// by its own log of requests.
@Suite("Upload to a FHIR server", .timeLimit(.minutes(5)))
struct FHIRUploadProgramTests {
    @Test(arguments: ["hapi", "medplum", "azure", "google"])
    func `each record is stored once, and a second run asks nothing`(
        manner: String
    ) async throws {
        let scene = try await FHIRScene(manner)

        let first = try await scene.playground.run("run", "clinic")
        let sent = try await scene.requests()
        let second = try await scene.playground.run("run", "clinic", "--force")

        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.contains("30 observations sent"), "\(first.output)")
        let stored = try await scene.stored()
        #expect(stored.count == FHIRScene.records && stored.values.allSatisfy { $0 == 1 })
        let bundles = sent.filter { $0["method"].text == "POST" }
            .map { $0["entries"].elements.compactMap { $0["url"].text } }
        // The device comes before what refers to it, if the server lets the client name it.
        let ofDevices = bundles.filter { $0[0].hasPrefix("Device/") }.map(\.count)
        #expect(ofDevices == (manner == "google" ? [] : [1]))
        #expect(bundles.map(\.count).suffix(3) == [10, 10, 10])
        #expect(second.status == 0 && second.output.contains("nothing to do"), "\(second.output)")
        #expect(try await scene.requests().count == sent.count)
        let log = try await scene.playground.run("audit", "log")
        #expect(log.output.contains("records of HeartRate 30"), "\(log.output)")
    }

    @Test func `what is new since the last run is sent alone`() async throws {
        let scene = try await FHIRScene()
        _ = try await scene.playground.run("run", "clinic")
        let before = try await scene.stored()

        try scene.playground.writeExport(heartRates: FHIRScene.records + 5)
        _ = try await scene.playground.run("run", "import", "--force")
        let again = try await scene.playground.run("run", "clinic", "--force")

        #expect(again.output.contains("5 observations sent"), "\(again.output)\(again.errors)")
        let after = try await scene.stored()
        #expect(after.count == FHIRScene.records + 5 && after.values.allSatisfy { $0 == 1 })
        #expect(before.keys.allSatisfy { after[$0] != nil })
    }

    @Test(arguments: ["POST /: pass, drop", "POST /: pass, truncate", "POST /: pass, garbage"])
    func `a bundle whose answer is lost is looked up and not sent again`(
        fault: String
    ) async throws {
        let scene = try await FHIRScene("azure")
        try await scene.sandbox.addFault(fault)

        let first = try await scene.playground.run("run", "clinic")
        let again = try await scene.playground.run("run", "clinic", "--force")

        #expect(first.status == 75 || first.status == 69, "\(first.output)\(first.errors)")
        #expect(again.status == 0, "\(again.errors)")
        let stored = try await scene.stored()
        #expect(stored.count == FHIRScene.records && stored.values.allSatisfy { $0 == 1 })
        let log = try await scene.requests()
        #expect(log.contains { $0["url"].text?.contains("_id=") ?? false })
        // Each entry was carried out once; a bundle that is answered with garbage is not read.
        let entries = log.flatMap { $0["entries"].elements.compactMap { $0["url"].text } }
        #expect(entries.filter { $0.hasPrefix("Observation/") }.count == FHIRScene.records)
    }

    @Test func `after an entry that came too fast, it and all that follow wait`() async throws {
        let scene = try await FHIRScene("azure")
        try await scene.sandbox.addFault("PUT /Observation/*: pass x14, 429")

        let first = try await scene.playground.run("run", "clinic")
        let kept = try await scene.stored()
        let again = try await scene.playground.run("run", "clinic", "--force")

        #expect(first.status != 0 && first.errors.contains("answers 429"), "\(first.errors)")
        // Others were on their way at the same moment.
        #expect((14..<FHIRScene.records).contains(kept.count), "\(kept.count)")
        #expect(again.status == 0, "\(again.errors)")
        let stored = try await scene.stored()
        #expect(stored.count == FHIRScene.records && stored.values.allSatisfy { $0 == 1 })
    }

    @Test func `a refused record is named by its code and not sent again`() async throws {
        let scene = try await FHIRScene()
        try await scene.sandbox.addFault("PUT /Observation/*: pass x3, 422 x2")

        let first = try await scene.playground.run("run", "clinic")
        let asked = try await scene.requests().count
        let again = try await scene.playground.run("run", "clinic", "--force")

        #expect(first.status == 1, "\(first.errors)")
        #expect(
            first.errors.contains("refused 2 resources for what they say"), "\(first.errors)")
        // What the server says beside the code may repeat a value.
        #expect(!first.errors.contains("diagnostics") && !first.output.contains("diagnostics"))
        #expect(again.status == 0)
        #expect(try await scene.requests().count == asked)
        #expect(try await scene.stored().count == FHIRScene.records - 2)
    }

    @Test func `a refusal is noted where the attempt ends for another reason`() async throws {
        let scene = try await FHIRScene()
        try await scene.sandbox.addFault("PUT /Observation/*: 422, pass x3, 429")

        let first = try await scene.playground.run("run", "clinic")

        #expect(first.errors.contains("answers 429"), "\(first.errors)")
        let notes = try await scene.playground.history("clinic").flatMap(\.notes)
        #expect(
            notes.contains { $0.contains("refused 1 resource for what they say") }, "\(notes)")
    }

    @Test func `a bundle that is too large is halved`() async throws {
        let scene = try await FHIRScene()
        try await scene.sandbox.addFault("POST /: pass, 413")

        let result = try await scene.playground.run("run", "clinic")

        #expect(result.status == 0, "\(result.errors)")
        #expect(try await scene.stored().count == FHIRScene.records)
    }

    @Test func `nothing is sent of a patient whom the server does not know`() async throws {
        let scene = try await FHIRScene(hasPatient: false)

        let result = try await scene.playground.run("run", "clinic")

        #expect(result.status == 78 || result.status == 1, "\(result.status)")
        #expect(result.errors.contains("has no `Patient/p1`"), "\(result.errors)")
        #expect(try await scene.requests().allSatisfy { $0["method"].text == "GET" })
    }

    @Test func `a token goes with each request, and a refused one is said`() async throws {
        let scene = try await FHIRScene(
            options: ["--fhir-login", "token:right"], hasPatient: false)
        func use(_ token: String) async throws -> ProgramResult {
            try scene.playground.write { url, folder in
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
            return try await scene.playground.run(
                "run", "clinic", "--force", environment: ["FHIR_TOKEN": token])
        }

        let wrong = try await use("wrong-token")
        let right = try await use("right")

        #expect(wrong.status == 77, "\(wrong.status) \(wrong.errors)")
        #expect(wrong.errors.contains("it refuses the token"), "\(wrong.errors)")
        #expect(!wrong.errors.contains("wrong-token"))
        #expect(right.status == 0, "\(right.errors)")
        let stored = try await scene.stored()
        #expect(stored.count == FHIRScene.records, "\(stored) \(right.output)")
    }

    @Test func `a dry run says what would be sent, and sends nothing`() async throws {
        let scene = try await FHIRScene()
        let asked = try await scene.requests().count

        let result = try await scene.playground.run("dry-run", "clinic")

        #expect(result.output.contains("would send 30 Observations of 1 type"), "\(result.output)")
        #expect(try await scene.requests().count == asked)
    }

    @Test func `a killed attempt loses nothing and stores nothing twice`() async throws {
        let scene = try await FHIRScene("azure")
        try await scene.sandbox.addFault("POST /: pass, hang")

        let loop = try scene.playground.start(["run", "clinic", "--force"])
        let sandbox = scene.sandbox
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        for worker in ProcessTable.children(of: loop.processID) { kill(worker, SIGKILL) }
        _ = await loop.finish()
        try await sandbox.clearFaults()
        let again = try await scene.playground.run("run", "clinic", "--force")

        #expect(again.status == 0, "\(again.errors)")
        let stored = try await scene.stored()
        #expect(stored.count == FHIRScene.records && stored.values.allSatisfy { $0 == 1 })
    }
}
