import ClarityTestSupport
import Testing

@Suite("The dependencies between folders")
struct ArchitectureTests {
    @Test func `every import and use between folders is in the table`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
        let markdown = String(
            decoding: try TemporaryFolder.read("\(root)/Tests/ArchitectureTests/Folders.md"),
            as: UTF8.self)
        let architecture = Architecture(markdown: markdown)
        let files = try SourceTree.files(below: "\(root)/Sources")

        #expect(files.count > 50)
        #expect(architecture.violations(in: files) == [])
    }

    @Test func `every folder in the table exists`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
        let markdown = String(
            decoding: try TemporaryFolder.read("\(root)/Tests/ArchitectureTests/Folders.md"),
            as: UTF8.self)
        let found = Set(try SourceTree.files(below: "\(root)/Sources").map(\.folder))

        let drawn = Architecture(markdown: markdown).folders.map(\.path)

        #expect(drawn.filter { !found.contains($0) } == [])
    }

    @Test func `every file that ARCHITECTURE.md names exists`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
        let text = String(
            decoding: try TemporaryFolder.read("\(root)/ARCHITECTURE.md"), as: UTF8.self)
        let found = Set(
            try ["Sources", "Tests"].flatMap { folder in
                try SourceTree.files(below: "\(root)/\(folder)").map { file in
                    file.path.split(separator: "/").last.map { String($0) } ?? file.path
                }
            })
        let named = text.matches(of: /[A-Za-z0-9+\-]+\.swift/).map { String($0.output) }

        #expect(named.count > 50)
        #expect(named.filter { !found.contains($0) } == [])
    }

    @Test func `each file that inserts samples also counts them`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
        let texts = try SourceTree.files(below: "\(root)/Sources/HealthStore").map { file in
            let bytes = try TemporaryFolder.read("\(root)/Sources/HealthStore/\(file.path)")
            return (path: file.path, text: String(decoding: bytes, as: UTF8.self))
        }
        let inserting = texts.filter { $0.text.contains("INSERT INTO outbox ") }

        #expect(inserting.count == 3)
        for (path, text) in inserting {
            // Nothing else counts these (`CountedTable.countsInsertions`).
            #expect(
                text.ranges(of: "INSERT INTO outbox ").count
                    == text.ranges(of: "countInserted(").count, "\(path)")
        }
    }

    @Test(arguments: [
        ("import of a module", "import SQLite", ["A/Low/x.swift: imports SQLite"]),
        ("public import of a module", "public import SQLite", ["A/Low/x.swift: imports SQLite"]),
        (
            "import with an attribute", "@preconcurrency internal import Glibc",
            ["A/Low/x.swift: imports Glibc"]
        ),
        ("name from above", "let t: Upper", ["A/Low/x.swift: uses Upper of A/High"]),
        ("name from above in a call", "_ = Upper.make()", ["A/Low/x.swift: uses Upper of A/High"]),
        ("name in a comment", "// see Upper", []),
        ("name in a string", "let t = \"Upper\"", []),
        ("own name", "struct Own {}\nlet t: Own", []),
        ("import that is allowed", "import CYAML", []),
    ])
    func `the check reports forbidden imports and uses, and nothing else`(
        what: String, text: String, violations: [String]
    ) {
        let architecture = Architecture(
            markdown: """
                | folder | uses the folders | imports |
                |---|---|---|
                | A/Low | | CYAML |
                | A/High | Low | |
                """)
        let files = [
            SourceFile(path: "A/High/upper.swift", text: "public struct Upper {}\n"),
            SourceFile(path: "A/Low/x.swift", text: text),
        ]

        #expect(architecture.violations(in: files) == violations)
    }

    @Test func `a folder that is not in the table is a violation`() {
        let architecture = Architecture(markdown: "")

        let violations = architecture.violations(in: [SourceFile(path: "A/B/x.swift", text: "")])

        #expect(violations == ["A/B: the folder is not in Folders.md"])
    }
}
