import Glibc
import Database
import Testing

/// SQLite itself reads the missing end of a file as zeros, and calls the database intact.
@Suite struct FileLengthTests {
    private static let bytes = [UInt8](repeating: 7, count: 8000)
    private let migrations = Migrations(
        applicationID: 7, steps: ["CREATE TABLE kept (value BLOB) STRICT"])

    /// Makes a file of whole pages that ends with a page of a blob.
    private func made() throws -> TemporaryFile {
        let file = TemporaryFile()
        let connection = try FileConnection(path: file.path)
        try connection.useWriteAheadLog()
        try migrations.migrate(connection)
        try connection.run("INSERT INTO kept VALUES (?)", .blob(Self.bytes))
        return file
    }

    private func length(_ path: String) throws -> Int {
        var facts = stat()
        try #require(stat(path, &facts) == 0)
        return Int(facts.st_size)
    }

    @Test(arguments: [1, 1000, 4095])
    func `a file without the end of its last page is damaged`(missing: Int) throws {
        let file = try made()
        let whole = try length(file.path)
        try #require(truncate(file.path, whole - missing) == 0)
        let connection = try FileConnection(path: file.path, access: .immutable)

        let checked = try connection.first("PRAGMA integrity_check") { $0.text(0) }
        let value = try connection.first("SELECT value FROM kept") { $0.blob(0) }
        let error = #expect(throws: DatabaseError.self) { try connection.requireSoundness(nil) }

        #expect(checked == "ok" && value?.count == Self.bytes.count && value != Self.bytes)
        #expect(
            error?.description.contains(
                "database is damaged: the file has \(whole - missing) bytes, its pages have \(whole)"
            )
                == true)
        #expect(error?.isDamage == true)
    }

    @Test func `a damaged file is refused before it is written`() throws {
        let file = try made()
        let short = try length(file.path) - 1000
        try #require(truncate(file.path, short) == 0)

        let error = #expect(throws: DatabaseError.self) {
            try migrations.migrate(try FileConnection(path: file.path, access: .readWrite))
        }

        #expect(error?.isDamage == true)
        #expect(try length(file.path) == short)
    }

    @Test func `a whole file is sound, and so is one with pages in its log`() throws {
        let file = try made()
        let writer = try FileConnection(path: file.path, access: .readWrite)
        try writer.requireSoundness(try migrations.form())

        try writer.run("INSERT INTO kept VALUES (?)", .blob(Self.bytes))

        #expect(
            try #require(writer.first("PRAGMA page_count") { $0.integer(0) }) * 4096
                > length(file.path))
        try writer.requireSoundness(try migrations.form())
        #expect(try migrations.version(of: writer) == 1)
    }

    @Test func `a transaction may have pages that the file has not yet`() throws {
        let file = TemporaryFile()
        let connection = try FileConnection(path: file.path)
        try connection.execute("CREATE TABLE kept (value BLOB)")

        try connection.transaction {
            try connection.run("INSERT INTO kept VALUES (?)", .blob(Self.bytes))
            try connection.requireSoundness(nil)
        }
    }
}
