@testable import Backend
@testable import ClarityJobs
import ClarityScheduler
import HealthStore
import Platform

/// Checks that whatever a FHIR server answers becomes an answer to each entry, resources under ids of
/// our own, or a refusal that can be shown.
enum FHIRAnswerProperties {
    private static let base = "https://fhir.example/r4"
    private static let statuses = [200, 200, 200, 200, 201, 302, 401, 404, 413, 429, 500]
    private static let entries = 3

    /// Checks a text. Its first byte selects what was asked, and the status.
    static func check(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        guard let (draw, text) = bytes.drawn else { return }
        let answers = FHIRAnswers(
            base: base, ofLogin: "it refuses the token", clock: SystemClock())
        let response = HTTPResponse(
            status: statuses[Int(draw >> 3) % statuses.count],
            headers: ["retry-after": String(decoding: text.prefix(8), as: UTF8.self)],
            body: Array(text))
        let naming: FHIRNaming = draw & 4 == 0 ? .byClient : .byServer
        do {
            switch draw % 3 {
            case 0: _ = try answers.abilities(in: response)
            case 1:
                let page = try answers.page(in: response, naming)
                try page.found.compactMap(\.self).forEach(check)
                try require(page.next?.hasPrefix(base) ?? true, "a page of another server")
            default:
                let found = try answers.entries(in: response, count: entries)
                try require(found.count == entries, "not an answer to each entry")
                for answer in found { try check(answer) }
            }
        } catch let refusal as FHIRRefusal {
            try check(refusal)
        }
    }

    private static func check(_ found: FHIRFound) throws {
        try require((1...64).contains(found.serverID.utf8.count), "an id that is none")
        try demandHarmless(found.serverID, "an id")
        try require(!found.serverID.contains { "/?# \"".contains($0) }, "an id with a path")
        _ = found.says(Array(#"{"status":"final","valueQuantity":{"value":1}}"#.utf8))
    }

    private static func check(_ answer: FHIREntryAnswer) throws {
        switch answer {
        case .stored, .unclear: break
        case .refused(let code):
            try require((1...40).contains(code.count), "a code without end")
            try demandHarmless(code, "a code")
        case .missing(let refusal), .later(let refusal): try check(refusal)
        }
    }

    private static func check(_ refusal: FHIRRefusal) throws {
        try demandHarmless(refusal.reason, "a refusal")
        try require(refusal.reason.utf8.count < 400, "a refusal without end")
        if let wait = refusal.wait {
            try require((.zero ... .seconds(86_400)).contains(wait), "a wait of \(wait)")
        }
    }
}
