import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// `fhir list`, `fhir verify` and `fhir erase`, and what follows from a changed grain, against the
/// stand-in FHIR server.
@Suite("Reviewing a FHIR server", .timeLimit(.minutes(5)))
struct FHIRReviewProgramTests {
    private func verify(
        _ scene: FHIRScene, _ options: String...
    ) async throws -> (status: Int32, result: JSONValue) {
        let program = try scene.playground.start(
            ["fhir", "verify", "clinic", "--output", "json"] + options)
        let ended = await program.finish()
        #expect(ended.status == 0 || ended.status == 1, "\(ended.errors)")
        return (ended.status, try JSONValue(ended.output))
    }

    @Test(arguments: ["hapi", "google"])
    func `what a server lost or somebody changed there is found, and sent again`(
        manner: String
    ) async throws {
        let scene = try await FHIRScene(manner)
        #expect(try await scene.send().status == 0)
        let whole = try await verify(scene)
        let ids = try await scene.stored().keys.sorted()
        try #require(ids.count == FHIRScene.records)
        for id in ids.prefix(2) {
            let answer = try await scene.ask("DELETE", "/fhir/Observation/\(id)")
            #expect(answer.contains(" 204 "), "\(answer)")
        }
        let other = """
            {"resourceType":"Observation","id":"\(ids[2])","status":"amended","code":{"text":"x"}}
            """
        #expect(try await scene.ask("PUT", "/fhir/Observation/\(ids[2])", other).contains(" 200 "))

        let found = try await verify(scene)
        let again = try await scene.send()
        let settled = try await verify(scene, "--settle")
        let sent = try await scene.send()
        let end = try await verify(scene)

        #expect(whole.status == 0 && whole.result["ok"] == .bool(true), "\(whole)")
        #expect(found.status == 1, "\(found)")
        let sums = found.result["months"].elements.filter { $0["type"].text == "HeartRate" }
        // In the manner of a server that chooses the ids, the changed one has lost its identifier.
        let missing = manner == "google" ? 3 : 2
        #expect(sums.map { $0["missing"].number } == [missing], "\(sums)")
        #expect(sums.map { $0["changed"].number } == [3 - missing], "\(sums)")
        #expect(again.output.contains("nothing to do"), "\(again.output)")
        #expect(settled.result["settled"] == .bool(true))
        #expect(sent.output.contains("3 observations sent"), "\(sent.output)\(sent.errors)")
        #expect(end.status == 0, "\(end)")
        let times = try await scene.observations().compactMap { $0["effectiveDateTime"].text }
        #expect(Set(times).count == FHIRScene.records)
    }

    @Test func `what the server has already is not sent again`() async throws {
        let scene = try await FHIRScene()
        #expect(try await scene.send().status == 0)
        // As if another machine, or an import of files, had brought them there.
        let health = "\(scene.playground.statePath)/health.db"
        try FileConnection(path: health, access: .readWrite).execute("DELETE FROM publications")
        let before = try await scene.requests().count

        let found = try await verify(scene, "--settle")
        let next = try await scene.send()

        #expect(found.result["unnoted"].number == FHIRScene.records, "\(found)")
        #expect(found.result["foreign"].number == 0)
        #expect(!next.output.contains("observations sent"), "\(next.output)")
        let bundles = try await scene.requests().dropFirst(before)
            .filter { $0["method"].text == "POST" }
        #expect(
            bundles.allSatisfy { bundle in
                bundle["entries"].elements.allSatisfy {
                    $0["url"].text?.hasPrefix("Device") ?? false
                }
            }, "\(bundles)")
    }

    @Test func `an Observation of somebody else is counted and left alone`() async throws {
        let scene = try await FHIRScene()
        #expect(try await scene.send().status == 0)
        let other = """
            {"resourceType":"Observation","id":"lab-1","status":"final","code":{"text":"x"},
            "subject":{"reference":"Patient/p1"}}
            """
        #expect(try await scene.ask("PUT", "/fhir/Observation/lab-1", other).contains(" 201 "))

        let found = try await verify(scene, "--settle")
        _ = try await scene.playground.run("fhir", "erase", "clinic", "--yes")

        #expect(found.status == 0 && found.result["foreign"].number == 1, "\(found)")
        #expect(try await scene.observations().compactMap { $0["id"].text } == ["lab-1"])
    }

    @Test(arguments: ["azure", "google"])
    func `what a person erases is gone, and is not sent again`(manner: String) async throws {
        let scene = try await FHIRScene(manner)
        #expect(try await scene.send().status == 0)

        let asked = try await scene.playground.run("fhir", "erase", "clinic")
        let untouched = try await scene.observations().count
        let erased = try await scene.playground.run(
            "fhir", "erase", "clinic", "--types", "HeartRate", "--since", "2026-10", "--yes")
        let again = try await scene.playground.run("fhir", "erase", "clinic", "--yes")
        try await scene.grow(to: FHIRScene.records + 1)
        let next = try await scene.send()

        #expect(asked.status == 64 && asked.errors.contains("use --yes"), "\(asked)")
        #expect(asked.errors.contains("HeartRate: 30"), "\(asked.errors)")
        #expect(untouched == FHIRScene.records)
        #expect(erased.status == 0, "\(erased.errors)")
        #expect(erased.output.contains("deleted 30 resources"), "\(erased.output)")
        #expect(again.status == 0, "\(again)")
        #expect(next.output.contains("1 observation sent"), "\(next.output)\(next.errors)")
        #expect(try await scene.observations().count == 1)
        let log = try await scene.playground.run("audit", "log")
        #expect(log.output.contains("HeartRate 30"), "\(log.output)")
    }

    @Test func `the sums add up before and after`() async throws {
        let scene = try await FHIRScene(job: ["types: [HeartRate]"])
        func sums() async throws -> JSONValue {
            let list = try await scene.playground.run("fhir", "list", "--output", "json")
            return try #require(try JSONValue(list.output).elements.first)
        }

        let before = try await sums()
        try await scene.sandbox.addFault("PUT /Observation/*: pass x3, 422 x2")
        _ = try await scene.send()
        let after = try await sums()
        let status = try await scene.playground.run("status")

        #expect(before["waiting"].number == 30 && before["sent"].number == 0, "\(before)")
        #expect(after["waiting"].number == 0 && after["sent"].number == 28, "\(after)")
        #expect(after["refused"].number == 2 && after["records"].number == 30, "\(after)")
        #expect(status.output.contains("has 28 records in 28 resources"), "\(status.output)")
    }

    @Test func `an hour that becomes single records is marked as entered in error`() async throws {
        let scene = try await FHIRScene("azure", job: ["grain: hourly"])
        #expect(try await scene.send().status == 0)
        let hours = try await scene.observations()
        try await scene.grow(to: FHIRScene.records + 5)
        let grown = try await scene.send()
        let versions = try await scene.stored().values.sorted()

        try scene.change(["grain: single"])
        let changed = try await scene.send()

        #expect(hours.count == 1 && hours[0]["valueSampledData"]["data"].text != nil, "\(hours)")
        #expect(grown.status == 0, "\(grown.errors)")
        #expect(versions == [2], "\(versions)")
        #expect(changed.status == 0, "\(changed.errors)")
        let after = try await scene.observations()
        let withdrawn = after.filter { $0["status"].text == "entered-in-error" }
        #expect(withdrawn.count == 1 && after.count == FHIRScene.records + 6)
        #expect(withdrawn[0]["valueSampledData"]["data"].text == nil)
        #expect(try await verify(scene).status == 0)
    }

    @Test func `devices are there before what refers to them, once`() async throws {
        let scene = try await FHIRScene()

        let sent = try await scene.send()
        let devices = try await scene.stored("Device")

        #expect(sent.status == 0, "\(sent.errors)")
        #expect(devices.values.map(\.self) == [1], "\(devices)")
        let id = try #require(devices.keys.first)
        let references = try await scene.observations().map { $0["device"]["reference"].text }
        #expect(Set(references) == ["Device/\(id)"])
    }

    @Test func `a job of another kind has no server to verify`() async throws {
        let scene = try await FHIRScene(hasPatient: false)

        let other = try await scene.playground.run("fhir", "verify", "import")
        let month = try await scene.playground.run("fhir", "verify", "clinic", "--since", "2026")

        #expect(other.status == 64 && other.errors.contains("of the kind `import`"), "\(other)")
        #expect(month.status == 64 && month.errors.contains("such as `2026-01`"), "\(month)")
    }
}
