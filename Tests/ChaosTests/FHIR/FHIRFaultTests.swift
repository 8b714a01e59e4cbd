import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Sends an archive to a FHIR server that fails, or from a program that is killed, and judges by what
/// the server has in the end: each record by its time and type, once, in its first version.
@Suite("Faults of a FHIR server", .timeLimit(.minutes(30)))
struct FHIRFaultTests {
    @Test(arguments: ["hapi", "medplum", "azure", "google", FHIRScene.versions])
    func `each record is there once whatever the server does`(manner: String) async throws {
        let scene = try await FHIRScene(manner)
        var random = ChaosPlan.current.generator("fhir faults \(manner)")
        var line = ChaosLine("fhir")
        let faults = FHIRScene.faults(of: manner)
        let slice = faults.shuffled(using: &random).prefix(5)
        for _ in 0..<ChaosPlan.current.size(slice: 1, whole: 8) {
            for fault in ChaosPlan.current.isWhole ? faults[...] : slice {
                let rule = fault.rule(Int.random(in: 0...fault.most, using: &random))
                try await scene.begin()
                try await scene.sandbox.addFault(rule)
                let first = try await scene.send()
                let struck = try await scene.sandbox.clearFaults()
                #expect(struck > 0, "\(rule): \(first)")
                line.faults[fault.name, default: 0] += struck > 0 ? 1 : 0
                // A server that lost what it confirmed is found out by asking it.
                if fault.forgets {
                    let found = try await scene.playground.run(
                        "fhir", "verify", "clinic", "--settle")
                    #expect(found.status == 1 || found.status == 0, "\(rule): \(found)")
                }
                try await scene.prove(rule, &line, refused: fault.refuses)
            }
        }
        line.tell()
    }

    @Test(arguments: ["google", FHIRScene.versions])
    func `a kill at any point loses and doubles nothing`(manner: String) async throws {
        let scene = try await FHIRScene(manner)
        var random = ChaosPlan.current.generator("fhir kills \(manner)")
        var line = ChaosLine("fhir")
        try await scene.begin()
        let counting = Faultline(counts: "\(scene.playground.folder.path)/passages")
        let whole = try await scene.send(counting.environment(folder: scene.playground.statePath))
        try #require(whole.status == 0, "\(whole.errors)")
        for point in [Faultline.Point.commit, .send, .receive, .any] {
            let count = try counting.count(of: point, program: .worker)
            try #require(count > 0, "\(point)")
            let drawn = Array(1...count).shuffled(using: &random)
                .prefix(ChaosPlan.current.size(slice: 2, whole: 40))
            for nth in drawn {
                let when: Faultline.When = nth.isMultiple(of: 2) ? .before : .after
                let kill = Faultline.Rule(
                    program: .worker, point: point, when: when, nth: nth, action: "kill")
                try await scene.begin()
                let faultline = Faultline(counts: "\(scene.playground.folder.path)/counts")
                faultline.reset()
                let first = try await scene.send(
                    faultline.environment(rules: [kill], folder: scene.playground.statePath))
                // The scheduler tries again, which may be all that is needed.
                #expect(first.status == 0 || first.status == 1 || first.status > 64, "\(first)")
                line.faults["worker", default: 0] += try faultline.struck()
                try await scene.prove("\(kill)", &line)
            }
        }
        line.tell()
        // How many writes and waits there are differs a little from run to run.
        #expect(line.faults["worker", default: 0] > line.rounds / 2)
    }
}

/// An archive and a server that each round finds as they were at first.
private struct FHIRScene {
    /// A fault of the server, whose rule begins after so many requests or entries.
    struct Fault {
        let name: String
        let request: String
        let action: String
        /// The most that pass before it.
        let most: Int
        /// Whether the server answers that it stored what it has not.
        var forgets = false
        /// How many records it refuses for what they say.
        var refuses = 0

        func rule(_ count: Int) -> String {
            "\(request): \(count > 0 ? "pass x\(count), " : "")\(action)"
        }
    }

    static func faults(of manner: String) -> [Fault] {
        let entry = manner == "google" ? "POST /Observation" : "PUT /Observation/*"
        let bundles = records.records.count / bundle - 1
        let entries = records.records.count - 1
        func ofBundles(_ name: String, _ action: String) -> Fault {
            Fault(name: name, request: "POST /", action: action, most: bundles)
        }
        func ofEntries(_ name: String, _ action: String) -> Fault {
            Fault(name: name, request: entry, action: action, most: entries)
        }
        return [
            ofBundles("answer-lost", "drop"), ofBundles("answer-cut", "truncate"),
            ofBundles("html", "garbage"), ofBundles("reset", "reset"),
            ofBundles("too-large", "413"), ofBundles("too-fast", "429"),
            ofBundles("server-error", "500"), ofBundles("busy", "503"),
            ofEntries("entry-too-fast", "429"), ofEntries("entry-conflict", "409"),
            ofEntries("entry-condition", "412"), ofEntries("entry-error", "500"),
            ofEntries("entry-reset", "reset"),
            Fault(
                name: "entry-exists", request: entry, action: "200", most: entries,
                forgets: true),
            Fault(
                name: "huge-outcome", request: entry, action: "bloat", most: entries,
                refuses: 1),
            Fault(
                name: "entry-dropped", request: entry, action: "lose x3", most: entries - 3,
                forgets: true),
            Fault(
                name: "emptied", request: "POST /", action: "empty", most: bundles,
                forgets: true),
        ]
    }

    /// A server that makes a new version of each `PUT`, also of one that changes nothing, so that
    /// whatever is sent twice is seen.
    static let versions = "versions"
    static let bundle = 20
    static let records = KnownRecords().adding(at: KnownRecords.august, count: 110)
        .adding(at: KnownRecords.september, count: 60)
        .adding("StepCount", at: KnownRecords.august, count: 50)

    let playground: Playground
    let sandbox: Sandbox

    init(_ manner: String) async throws {
        playground = try await Playground(
            sandboxOptions: manner == Self.versions
                ? ["--fhir", "google", "--fhir-with", "update-create"] : ["--fhir", manner],
            isInMemory: true
        ) { url, folder in
            """
            version: 1
            jobs:
              - id: clinic
                kind: fhir-upload
                schedule: 1d
                retry: { attempts: 1 }
                options:
                  url: \(url.replacing("/api/v1", with: "/fhir"))
                  patient: \(manner == "google" ? "https://clinic.example/mrn|4711" : "Patient/p1")
                  bundle: \(Self.bundle)

            """
        }
        sandbox = try #require(playground.sandbox)
        try Self.records.write(to: playground)
        let read = try await playground.importExport()
        try #require(read.status == 0, "\(read.errors)")
        try playground.keepState()
    }

    /// Makes the server empty but for the patient, and the program one that has sent nothing.
    func begin() async throws {
        try playground.putBackState()
        _ = try await LoopbackRequest.send("DELETE", "/_sandbox/fhir", port: sandbox.port)
        try await makePatient()
    }

    /// Nobody can choose the id of a patient on a server that chooses the ids; there the job names
    /// an identifier.
    private func makePatient() async throws {
        _ = try await LoopbackRequest.answer(
            "PUT", "/fhir/Patient/p1", headers: ["Content-Type": "application/fhir+json"],
            body: #"{"resourceType":"Patient","id":"p1"}"#, port: sandbox.port)
    }

    func send(_ environment: [String: String] = [:]) async throws -> ProgramResult {
        try await playground.run("run", "clinic", "--force", environment: environment)
    }

    /// Runs the job until it has nothing left to send, and compares what the server has with the
    /// records.
    ///
    /// - Parameter refused: how many records the server has refused, which are not sent again.
    func prove(_ what: String, _ line: inout ChaosLine, refused: Int = 0) async throws {
        line.rounds += 1
        var last: ProgramResult?
        for _ in 0..<6 {
            // Whoever restarts an empty server makes the patient anew.
            try await makePatient()
            last = try await send()
            line.crashes += (last?.status ?? 0) > 128 ? 1 : 0
            if last?.status == 0 { break }
        }
        line.stuck += last?.status == 0 ? 0 : 1
        #expect(last?.status == 0, "\(what): \(String(describing: last))")
        let there = try await stored()
        let wanted = Self.records.records.map(\.mark).sorted()
        let (lost, doubled) = (there.lacks(wanted) - refused, wanted.lacks(there))
        line.lost += lost
        line.doubled += doubled
        #expect(lost == 0 && doubled == 0, "\(what)")
    }

    /// The type, time and version of each Observation that the server has, sorted.
    private func stored() async throws -> [String] {
        let text = try await LoopbackRequest.send(
            "GET", "/fhir/Observation?_count=1000", port: sandbox.port)
        let found = try JSONValue(text)["entry"].elements
        try #require(found.count < 1000)
        return found.map { entry in
            let resource = entry["resource"]
            let version = resource["meta"]["versionId"].text ?? ""
            return "\(resource["code"]["text"].text ?? "") "
                + "\(resource["effectiveDateTime"].text ?? "") \(version)"
        }.sorted()
    }
}

extension KnownRecords.Record {
    /// The record as an Observation in its first version has it.
    fileprivate var mark: String {
        let (day, clock) = time
        return "\(type) \(day)T\(clock)+00:00 1"
    }
}
