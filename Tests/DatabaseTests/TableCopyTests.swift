import ClarityTestSupport
import Testing

@testable import Database

@Suite(
    "A copy of all tables",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct TableCopyTests {
    private static let schema = """
        CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, photo BLOB, x REAL) STRICT;
        CREATE TABLE visits (
            person INTEGER NOT NULL REFERENCES people, day INTEGER NOT NULL,
            PRIMARY KEY (person, day)
        ) STRICT, WITHOUT ROWID;
        """

    /// A file and a database with the same tables; the file has some rows, and had more.
    private func places() async throws -> (file: FileConnection, server: ServerConnection) {
        let file = try FileConnection(path: "")
        try file.execute(Self.schema)
        try file.execute(
            """
            INSERT INTO people (name, photo, x) VALUES ('ä', x'00ff', 0.1), (NULL, NULL, -0.0), ('z', x'', 1);
            INSERT INTO people (id) VALUES (900);
            DELETE FROM people WHERE id = 900;
            INSERT INTO visits VALUES (1, 5), (3, 5);
            """)
        let address = try await PostgresServer.shared().makeDatabase()
        let map = PostgresSchema(ownerColumn: "account", condition: "true")
        let owner = try ServerConnection(address)
        try owner.execute(
            "CREATE SCHEMA s; SET search_path = s; \(PostgresSchema.functions)\n"
                + map.translated(Self.schema))
        let server = try ServerConnection(
            address, owner: .init(column: "account", value: "ada"), schema: "s")
        return (file, server)
    }

    private func copy(
        _ source: Connection, _ target: Connection, marks: [String] = ["people"],
        own: Set<String> = []
    ) throws -> TableCopy.Outcome {
        try source.transaction {
            try target.transaction {
                try TableCopy(from: source, to: target).runOnce(marks: marks, own: own)
            }
        }
    }

    @Test func `a server gets what a file has, once, and gives it back`() async throws {
        let (file, server) = try await places()

        #expect(try copy(file, server) == .copied(rows: 5))
        #expect(try copy(file, server) == .same)
        let back = try FileConnection(path: "")
        try back.execute(Self.schema)
        #expect(try copy(server, back) == .copied(rows: 5))
        #expect(try TableCopy(from: file, to: back).isFaithful())
        // The number of a row that was removed is not given again.
        for place in [server, back] as [Connection] {
            let next = try place.insert("INSERT INTO people (name) VALUES ('n') RETURNING id")
            #expect(next > 900)
        }
    }

    @Test(arguments: [
        "UPDATE people SET x = 0.2 WHERE id = 1", "UPDATE people SET photo = x'00fe' WHERE id = 1",
        "UPDATE people SET name = '' WHERE id = 2", "DELETE FROM visits WHERE person = 3",
        "INSERT INTO visits VALUES (2, 5)",
    ])
    func `a place with other rows is left as it is`(change: String) async throws {
        let (file, server) = try await places()
        _ = try copy(file, server)
        try file.execute(change)

        #expect(try copy(file, server) == .occupied)

        let names = try server.all("SELECT name FROM people WHERE id = 1") { $0.text(0) }
        #expect(names == ["ä"])
        #expect(try server.integer("SELECT count(*) FROM visits") == 2)
    }

    @Test func `tables that each place has for itself may differ`() async throws {
        let (file, server) = try await places()
        _ = try copy(file, server)
        try file.execute("DELETE FROM visits")

        #expect(try copy(file, server, own: ["visits"]) == .same)
    }

    @Test func `without a row in the marking tables there is nothing to copy`() async throws {
        let (file, server) = try await places()
        try file.execute("DELETE FROM visits; DELETE FROM people")

        #expect(try copy(file, server) == .empty)
    }
}
