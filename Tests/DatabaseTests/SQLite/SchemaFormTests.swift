import Database
import Testing

@Suite struct SchemaFormTests {
    private let migrations = Migrations(
        applicationID: 7,
        steps: [
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, state TEXT CHECK (state IN ('a', 'b'))) STRICT",
            "ALTER TABLE runs ADD COLUMN needs TEXT; CREATE INDEX by_state ON runs (state)",
        ])

    private func file(_ script: String) throws -> FileConnection {
        let file = try FileConnection(path: ":memory:", access: .readWrite)
        try file.execute(script)
        return file
    }

    @Test func `a file that the steps made has their form, wherever its spaces are`() throws {
        let form = try migrations.form()
        let plain = try file(migrations.steps.joined(separator: ";"))
        let wide = try file(
            migrations.steps.joined(separator: ";").replacing(" (id", with: "  (\n  \"id\""))

        try plain.requireSchema(of: migrations)
        try wide.requireSchema(of: migrations)
        #expect(form.version == 2)
    }

    @Test(arguments: [nil, true, false])
    func `only the schema that the steps make is taken, whatever mark is known`(
        isRight: Bool?
    ) throws {
        let mark = try migrations.form().mark
        let knowing = Migrations(
            applicationID: 7, steps: migrations.steps,
            mark: isRight.map { $0 ? mark : mark + 1 })
        let own = try file(migrations.steps.joined(separator: ";"))
        let other = try file(migrations.steps[0])

        try own.requireSchema(of: knowing)
        #expect(throws: DatabaseError.self) { try other.requireSchema(of: knowing) }
    }

    @Test(arguments: [
        ("'b'", "'c'"), ("needs", "nemds"), ("by_state", "by_statd"), ("TEXT;", "BLOB;"),
        ("; CREATE INDEX by_state ON runs (state)", ""),
    ])
    func `a file with any other schema is damaged`(word: String, other: String) throws {
        let form = try migrations.form()
        let turned = try file(
            migrations.steps.joined(separator: ";").replacing(word, with: other)
                + "; PRAGMA user_version = 2")

        let error = #expect(throws: DatabaseError.self) { try turned.requireSoundness(form) }
        #expect(error?.isDamage == true)
    }

    @Test func `of a file of another version, only the pages are checked`() throws {
        let older = try file("\(migrations.steps[0]); PRAGMA user_version = 1")

        try older.requireSoundness(try migrations.form())
        try older.requireSoundness(nil)
    }

    @Test func `a statement that names what a schema has not is told as damage`() throws {
        let file = try file(migrations.steps[0])

        let error = #expect(throws: DatabaseError.self) {
            try file.first("SELECT needs FROM runs") { $0.text(0) }
        }
        #expect(error?.isDamage == true)
    }
}
