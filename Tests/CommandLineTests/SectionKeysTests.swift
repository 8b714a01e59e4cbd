import ClarityHost
import ClarityScheduler
import HealthStore
import Testing

/// Every key that a section declares reaches the worker: from the text of a job file, through the
/// lines of an order, into the field of the type that the worker reads.
struct SectionKeysTests {
    /// A key of a section, and of a kind of entry if the section is a list.
    struct DeclaredKey: CustomTestStringConvertible, Sendable {
        var section: SectionDeclaration
        var kind: String?
        var option: OptionDeclaration
        /// The required keys beside it.
        var others: [OptionDeclaration]

        var testDescription: String {
            "\(section.key)\(kind.map { "<\($0)>" } ?? "").\(option.key)"
        }
    }

    static let keys: [DeclaredKey] = clarityCatalogue.sections.flatMap { section in
        func keys(_ options: [OptionDeclaration], _ kind: String?) -> [DeclaredKey] {
            options.map { option in
                DeclaredKey(
                    section: section, kind: kind, option: option,
                    others: options.filter { $0.isRequired && $0.key != option.key })
            }
        }
        switch section.content {
        case .mapping(let options): return keys(options, nil)
        case .list(let kinds): return kinds.flatMap { keys($0.value, $0.key) }
        }
    }

    @Test func `there are keys of every section`() {
        #expect(
            Set(Self.keys.map(\.section.key)) == [
                "backend", "key", "sources", "fresh", "notify", "mcp",
            ])
    }

    @Test(arguments: keys, [false, true])
    func `a key of a section arrives in the worker's value`(
        key: DeclaredKey, hasAccounts: Bool
    ) throws {
        let one = try arrived(key, 0, hasAccounts: hasAccounts)
        let other = try arrived(key, 1, hasAccounts: hasAccounts)

        #expect(one != other)
    }

    /// Returns what the worker has of a section, in words, if the key has its sample of a number.
    private func arrived(_ key: DeclaredKey, _ number: Int, hasAccounts: Bool) throws -> String {
        var entries = key.others.map { "\($0.key): \(Self.sample($0.type, 0))" }
        entries.append("\(key.option.key): \(Self.sample(key.option.type, number))")
        if let kind = key.kind { entries.append("kind: \(kind)") }
        let mapping = "{ \(entries.joined(separator: ", ")) }"
        let text = """
            version: 1
            \(key.section.key == "backend" ? "" : "backend: { url: \"https://a.example\" }")
            \(key.section.key): \(key.kind == nil ? mapping : "[\(mapping)]")
            \(hasAccounts ? "accounts: [{ id: anna }]" : "")
            jobs: [{ id: upload, kind: bulk-upload }]
            """
        let file = try JobFileReader(
            catalogue: clarityCatalogue, environment: [:], workingDirectory: "/data"
        ).read(Array(text.utf8), path: "jobs.yaml")
        let job = try #require(file.groups.flatMap(\.wholeJobs).first)
        let order = AttemptOrder(
            run: RunID(1), job: job.id, kind: job.kind, attempt: 1, fencingToken: 1,
            scheduledFor: Instant(secondsSince1970: 0), timeout: .zero, warning: .zero,
            memoryLimitBytes: 0, options: job.options)
        let sections = SectionValues(try AttemptOrder(lines: order.lines).options)
        var words = ""
        switch key.section.key {
        case "backend": dump(try sections.backend, to: &words)
        case "key": dump(try sections.key, to: &words)
        case "sources": dump(try sections.sources, to: &words)
        case "fresh": dump(try sections.freshness, to: &words)
        case "notify": dump(try sections.targets, to: &words)
        case "mcp": dump(try sections.assistant, to: &words)
        default: Issue.record("no reader of the section `\(key.section.key)`")
        }
        return words
    }

    /// Returns one of two values of a type, as a job file has it.
    private static func sample(_ type: OptionDeclaration.ValueType, _ number: Int) -> String {
        let isFirst = number == 0
        switch type {
        case .text, .line: return isFirst ? "one" : "two"
        case .variableName, .secretName: return isFirst ? "ONE" : "TWO"
        case .texts, .command: return isFirst ? "[one]" : "[two]"
        case .variables: return isFirst ? "[A=1]" : "[A=2]"
        case .parameters: return isFirst ? "{ A: }" : "{ B: }"
        case .boolean: return isFirst ? "true" : "false"
        case .integer(let range): return "\(range.lowerBound + number)"
        case .number(let range): return "\(range.lowerBound + Double(number))"
        case .duration(let range):
            return "\(range.lowerBound.milliseconds + Int64(number))ms"
        case .size(let range): return "\((range.lowerBound >> 10) + Int64(number))KiB"
        case .choice(let words): return words[number]
        case .words(let words): return "[\(words[number])]"
        case .rate: return isFirst ? "1 per 1h" : "2 per 1h"
        case .window: return isFirst ? "\"01:00-02:00\"" : "\"01:00-03:00\""
        case .timeZone: return isFirst ? "UTC" : "Asia/Tokyo"
        case .dateOrInstant: return isFirst ? "2026-01-01" : "2026-01-02"
        case .path, .source: return isFirst ? "/data/one" : "/data/two"
        case .url, .endpoint: return isFirst ? "\"https://one.example\"" : "\"https://two.example\""
        }
    }
}
