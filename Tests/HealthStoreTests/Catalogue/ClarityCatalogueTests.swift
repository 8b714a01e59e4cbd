import ClarityScheduler
import Testing

@testable import HealthStore

@Suite struct ClarityCatalogueTests {
    private func options(_ kind: String) -> [String: OptionDeclaration] {
        let declaration = clarityCatalogue.kinds.first { $0.kind.rawValue == kind }
        return Dictionary(
            uniqueKeysWithValues: (declaration?.options ?? []).map { ($0.key, $0) })
    }

    @Test func `the kinds are declared in the order of a day's work`() {
        #expect(
            clarityCatalogue.kinds.map(\.kind.rawValue) == [
                "import", "refresh", "bulk-upload", "processing-status", "pat-analysis",
                "insight-generate", "insight-history", "cleanup", "audit-upload", "export-data",
                "publish", "fhir-upload", "notify",
            ])
    }

    @Test(
        arguments: [
            ("bulk-upload", "batch_size", nil), ("bulk-upload", "route", "auto"),
            ("bulk-upload", "on_ambiguous", "resend"),
            ("processing-status", "give_up_after", "604800000"),
            ("cleanup", "retain", "7776000000"), ("refresh", "page_size", "100"),
            ("insight-history", "page_size", "20"), ("insight-history", "full_texts", "50"),
            ("pat-analysis", "minutes_needed", "7200"), ("pat-analysis", "form", "auto"),
            ("pat-analysis", "give_up_after", "604800000"),
            ("insight-generate", "type", "comprehensive"), ("insight-generate", "language", "en"),
            ("insight-generate", "recommendations", "true"),
            ("insight-generate", "context", "summary"), ("audit-upload", "page_size", "500"),
            ("export-data", "format", "csv"), ("export-data", "types", nil),
            ("publish", "allow_http", "false"), ("publish", "types", nil),
            ("publish", "days", nil), ("fhir-upload", "bundle", "200"),
            ("fhir-upload", "secret", nil),
        ] as [(String, String, String?)])
    func `an option has the value that the documentation promises`(
        kind: String, key: String, standard: String?
    ) {
        #expect(options(kind)[key] != nil)
        #expect(options(kind)[key]?.defaultValue == standard)
    }

    @Test func `every standard value is one that its form allows`() {
        for declaration in clarityCatalogue.kinds.flatMap(\.options) {
            guard let standard = declaration.defaultValue else { continue }
            switch declaration.type {
            case .integer(let range): #expect(Int(standard).map(range.contains) == true)
            case .duration(let range):
                #expect(
                    Int64(standard).map { range.contains(.milliseconds($0)) } == true,
                    "\(declaration.key)")
            case .choice(let words): #expect(words.contains(standard), "\(declaration.key)")
            case .boolean: #expect(Bool(standard) != nil, "\(declaration.key)")
            case .text: #expect(!standard.isEmpty, "\(declaration.key)")
            default: Issue.record("unexpected form of `\(declaration.key)`")
            }
        }
    }

    @Test func `the backend's dialects are those that are spoken`() throws {
        let backend = try #require(clarityCatalogue.sections.first { $0.key == "backend" })
        guard case .mapping(let options) = backend.content else {
            Issue.record("not a mapping")
            return
        }
        let dialect = options.first { $0.key == "dialect" }

        #expect(
            options.map(\.key) == [
                "url", "dialect", "retry_wait", "ca_bundle", "pins", "max_requests_per_second",
                "max_connections",
            ])
        #expect(options.first?.isRequired == true)
        #expect(dialect?.type == .choice(["auto", "blueprint", "loop"]))
    }

    @Test func `the audit log goes nowhere unless a place is named`() {
        #expect(options("audit-upload")["url"]?.isRequired == true)
        #expect(options("audit-upload")["url"]?.defaultValue == nil)
    }

    @Test func `records go nowhere unless a folder is named`() {
        #expect(options("export-data")["folder"]?.isRequired == true)
        #expect(options("export-data")["folder"]?.defaultValue == nil)
    }

    @Test func `days go nowhere unless a receiver is named`() {
        for key in ["to", "url"] {
            #expect(options("publish")[key]?.isRequired == true)
            #expect(options("publish")[key]?.defaultValue == nil)
        }
        for key in ["url", "patient"] {
            #expect(options("fhir-upload")[key]?.isRequired == true)
            #expect(options("fhir-upload")[key]?.defaultValue == nil)
        }
    }

    @Test func `a source is one of three kinds, each with what decides on its reading`() throws {
        let sources = try #require(clarityCatalogue.sections.first { $0.key == "sources" })
        guard case .list(let kinds) = sources.content else {
            Issue.record("not a list")
            return
        }

        #expect(
            kinds.mapValues { $0.map(\.key) } == [
                "apple-health-export": ["path", "time_zone", "prefer", "since"],
                "health-auto-export": ["path", "time_zone", "delete_after_reading"],
                "spool": ["path"],
            ])
        #expect(
            kinds.values.allSatisfy { $0.filter(\.isRequired).map(\.key) == ["path"] })
        #expect(
            kinds["apple-health-export"]?.map(\.type) == [
                .source, .timeZone, .texts, .dateOrInstant,
            ])
    }
}
