import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Carries out the two walk-throughs of docs/fhir.md against the stand-in FHIR server, and judges by
/// what the server has.
@Suite("The page about FHIR servers", .timeLimit(.minutes(5)))
struct FHIRPageTests {
    private struct Block {
        let language: String
        let text: String
    }

    /// The parts in a fence of a section of the page.
    private static func blocks(of section: String) throws -> [Block] {
        let page = String(
            decoding: try TemporaryFolder.read("\(Playground.root)/docs/fhir.md"), as: UTF8.self)
        let begin = try #require(page.firstRange(of: "## \(section)\n"), "\(section)")
        let rest = page[begin.upperBound...]
        let text = rest.firstRange(of: "\n## ").map { rest[..<$0.lowerBound] } ?? rest
        let parts = text.split(separator: "```", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { _, part in
            let language = part.prefix { $0 != "\n" }
            return Block(
                language: String(language), text: String(part.dropFirst(language.count + 1)))
        }
    }

    /// Runs the lines of a block that are commands of the program; each must succeed.
    private func run(_ block: Block, _ playground: Playground) async throws {
        for line in block.text.split(separator: "\n") where line.hasPrefix("clarity-jobs ") {
            let command = line.split(separator: "#")[0]
            let parts = command.split(separator: ">")
            let words = parts[0].split(separator: " ").dropFirst().map {
                $0 == "clinic.pem" ? "\(playground.folder.path)/\($0)" : String($0)
            }
            let result = try await playground.start(words).finish()
            #expect(result.status == 0, "\(line): \(result.errors)\(result.output)")
            if parts.count > 1 {
                let file = parts[1].filter { $0 != " " }
                try playground.folder.write(String(file), Array(result.output.utf8))
            }
        }
    }

    private func write(
        _ block: Block, _ server: String, at sandbox: Sandbox, _ playground: Playground
    ) throws {
        let text = block.text
            .replacing(server, with: sandbox.url.replacing("/api/v1", with: "/fhir"))
            .replacing("~/health/export.zip", with: "\(playground.folder.path)/export.xml")
            .replacing("key: clinic.pem", with: "key: \(playground.folder.path)/clinic.pem")
            // This machine is on mains power or not.
            .replacing("    constraints: { network: unmetered, power: external }\n", with: "")
        #expect(text != block.text)
        try playground.folder.write("jobs.yaml", Array(text.utf8))
    }

    private func makePatient(_ id: String, at sandbox: Sandbox) async throws {
        let answer = try await LoopbackRequest.answer(
            "PUT", "/fhir/Patient/\(id)", headers: ["Content-Type": "application/fhir+json"],
            body: #"{"resourceType": "Patient", "id": "\#(id)"}"#, port: sandbox.port)
        #expect(answer.hasPrefix("HTTP/1.1 201"), "\(answer)")
    }

    private func stored(at sandbox: Sandbox) async throws -> [JSONValue] {
        let text = try await LoopbackRequest.send(
            "GET", "/_sandbox/fhir/resources?limit=1000", port: sandbox.port)
        return try JSONValue(text)["resources"].elements
            .filter { $0["type"].text == "Observation" }
    }

    @Test func `a server at home gets each record as the page says`() async throws {
        let playground = try await Playground(sandboxOptions: ["--fhir", "hapi"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 40)
        try await makePatient("me", at: sandbox)

        for block in try Self.blocks(of: "A HAPI at home, without a login") {
            if block.language == "yaml" {
                try write(block, "http://192.168.1.20:8080/fhir", at: sandbox, playground)
            } else {
                try await run(block, playground)
            }
        }

        let there = try await stored(at: sandbox)
        #expect(there.count == 40 && there.allSatisfy { $0["versions"].number == 1 }, "\(there)")
    }

    @Test func `a clinic lets the key in and gets the days`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 40)
        var blocks = try Self.blocks(of: "A clinic, with a SMART login")[...]
        let keys = blocks.popFirst()
        try await run(try #require(keys), playground)
        let sandbox = try await Sandbox(
            data: "\(playground.folder.path)/clinic",
            [
                "--fhir", "azure", "--fhir-login",
                "jwt:wearable-4711:\(playground.folder.path)/clinic.jwks",
            ])

        var most = 0
        for block in blocks {
            if block.language == "yaml" {
                try write(block, "https://fhir.clinic.example/r4", at: sandbox, playground)
            } else {
                for line in block.text.split(separator: "\n") {
                    try await run(Block(language: "sh", text: String(line)), playground)
                    most = max(most, try await stored(at: sandbox).count)
                }
            }
        }

        // One day of October, of which the mean and the greatest heart rate are Observations. The last
        // line erases them.
        #expect(most == 2)
        #expect(try await stored(at: sandbox).allSatisfy { $0["deleted"] == .bool(true) })
    }
}
