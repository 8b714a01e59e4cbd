@preconcurrency import Glibc
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxSourcesTests {
    private let folder = StateFolder()
    private let later = Instant(secondsSince1970: 4_000_000_000)

    private var path: String { "\(folder.path)/export.zip" }

    private func stamp(reader: String = "1") -> SourceStamp? {
        SourceStamp(path: path, reader: reader, at: later)
    }

    @Test func `an unchanged file is known, and a changed one is not`() throws {
        let store = try folder.open()
        folder.write([1, 2, 3], to: "export.zip")
        let stamp = try #require(self.stamp())
        #expect(try store.outbox.wasRead(path, stamp) == nil)

        try store.outbox.noteRead(path, stamp, at: noon)

        #expect(try folder.open().outbox.wasRead(path, stamp) == noon)
        #expect(try store.outbox.wasRead("\(folder.path)/other.zip", stamp) == nil)
        folder.write([1, 2, 4], to: "export.zip")
        let changed = try #require(self.stamp())
        #expect(try store.outbox.wasRead(path, changed) == nil)
    }

    @Test func `a write that restores size and times is noticed`() throws {
        folder.write([1, 2, 3], to: "export.zip")
        let before = stamp()
        var status = stat()
        stat(path, &status)
        var times = [status.st_atim, status.st_mtim]

        // The file system's clock ticks every few milliseconds; the first writes may get one time.
        var tries = 0
        while stamp() == before, tries < 100_000 {
            tries += 1
            folder.write([1, 2, 4], to: "export.zip")
            utimensat(AT_FDCWD, path, &times, 0)
        }

        var after = stat()
        stat(path, &after)
        #expect(before != nil)
        #expect(stamp() != before)
        #expect(after.st_mtim.tv_nsec == status.st_mtim.tv_nsec)
    }

    @Test func `another reader reads again`() throws {
        folder.write([1], to: "export.zip")
        let (one, two) = (try #require(stamp(reader: "1")), try #require(stamp(reader: "2")))

        let store = try folder.open()
        try store.outbox.noteRead(path, one, at: noon)

        #expect(one != two)
        #expect(try store.outbox.wasRead(path, one) == noon)
        #expect(try store.outbox.wasRead(path, two) == nil)
    }

    @Test func `what reads a file, and by which rules, stands nowhere in clear text`() throws {
        folder.write([1], to: "export.zip")
        let store = try folder.open()
        try store.outbox.noteRead(path, #require(stamp(reader: "reader Europe/London")), at: noon)

        let row = try store.access { connection in
            try connection.first("SELECT stamp || CAST(sealed AS TEXT) FROM sources") { $0.text(0) }
        }

        #expect(try !(#require(row)).contains("London"))
    }

    @Test func `the stamp of a file that was only just changed is in doubt`() throws {
        let store = try folder.open()
        folder.write([1], to: "export.zip")
        let early = try #require(SourceStamp(path: path, reader: "1", at: noon))
        let late = try #require(stamp())
        let reading = LastReading(readAt: noon, reader: "1", bytes: 1, mark: nil, counts: [:])

        #expect(!early.isSettled && late.isSettled)
        #expect(early != late && early == late.inDoubt)
        try store.outbox.noteRead(path, early, reading)
        #expect(try store.outbox.wasRead(path, late) == nil)
        #expect(try store.outbox.wasRead(path, late.inDoubt) == noon)
    }

    @Test func `a folder and a missing file have no stamp`() {
        folder.write([1], to: "export.zip")

        #expect(SourceStamp(path: folder.path, reader: "1", at: later) == nil)
        #expect(SourceStamp(path: "\(path)x", reader: "1", at: later) == nil)
    }

    @Test func `what was found in a file is kept encrypted, and comes back as it was`() throws {
        let store = try folder.open()
        folder.write([1, 2, 3], to: "export.zip")
        let stamp = try #require(self.stamp())
        let mark = try #require(ContentMark(ofFile: path, like: nil) { false })
        let counts: [String: Int64] = ["heart_rate": 12, "records": 40]
        #expect(try store.outbox.lastReading(of: path) == nil)

        for (found, amounts) in [(mark, counts), (nil, [:])] as [(ContentMark?, [String: Int64])] {
            let reading = LastReading(
                readAt: noon, reader: stamp.reader, bytes: stamp.bytes, mark: found,
                counts: amounts)
            try store.outbox.noteRead(path, stamp, reading)

            #expect(try folder.open().outbox.lastReading(of: path) == reading)
        }
        #expect(stamp.bytes == 3)
        #expect(try store.outbox.lastReading(of: "\(folder.path)/other.zip") == nil)
        let encrypted = try store.access { connection in
            try connection.first("SELECT sealed FROM sources") { $0.blob(0) }
        }
        #expect(try !(#require(encrypted)).contains(mark.key))
    }

    @Test func `a damaged note is none, and the file is read again`() throws {
        let store = try folder.open()
        folder.write([1, 2, 3], to: "export.zip")
        let stamp = try #require(self.stamp())
        try store.outbox.noteRead(path, stamp, at: noon)

        for damage in ["zeroblob(60)", "x''", "NULL"] {
            try store.sql("UPDATE sources SET sealed = \(damage)")
            #expect(try store.outbox.lastReading(of: path) == nil)
            #expect(try store.outbox.wasRead(path, stamp) == nil)
        }
    }

    @Test func `bytes that are no note are taken for none, wherever they end`() throws {
        let mark = ContentMark(
            key: [UInt8](repeating: 1, count: 32), code: [UInt8](repeating: 2, count: 16))
        let reading = LastReading(
            readAt: noon, reader: "1", bytes: 9, mark: mark, counts: ["records": 4])
        let form = reading.encryptedForm

        #expect(LastReading(encryptedForm: form, readAt: noon) == reading)
        for count in form.indices {
            #expect(LastReading(encryptedForm: Array(form[..<count]), readAt: noon) == nil)
        }
    }
}
