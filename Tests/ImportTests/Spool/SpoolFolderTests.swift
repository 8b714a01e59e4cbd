import ClarityTestSupport
import Glibc
import Testing

@testable import Import

@Suite struct SpoolFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func contents() throws -> [String: String] {
        try folder.contents().mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `only files with their name for good wait, in its order`() throws {
        for name in [
            "b.json", "a.ndjson", "C.NDJSON", ".a.json", "a.json.tmp", "a.tmp", "a.part",
            "notes.txt",
            "\(String(repeating: "n", count: 200)).json",
        ] {
            try folder.write(name, [1])
        }
        try folder.write("empty.json", [])
        try folder.write("real", [1])
        symlink("\(folder.path)/real", "\(folder.path)/link.json")
        mkfifo("\(folder.path)/pipe.json", 0o600)
        mkdir("\(folder.path)/folder.json", 0o700)

        #expect(
            try SpoolFolder(SourcePlace(folder.path)).waiting() == [
                "C.NDJSON", "a.ndjson", "b.json",
            ])
    }

    @Test func `a file that was read goes to done, and one of the same name beside it`() throws {
        let spool = try SpoolFolder(SourcePlace(folder.path))

        for text in ["one", "two", "three"] {
            try folder.write("a.json", Array(text.utf8))
            let stamp = try spool.open("a.json").stamp
            #expect(try spool.settle("a.json", stamp, faults: nil))
        }

        #expect(
            try contents() == [
                "done": "", "done/a.json": "one", "done/a-2.json": "two", "done/a-3.json": "three",
            ])
        #expect(try spool.rejected() == 0)
    }

    @Test func `a file with faults goes to rejected, with the reasons beside it`() throws {
        let spool = try SpoolFolder(SourcePlace(folder.path))
        try folder.write("a.json", Array("bad".utf8))

        let isMoved = try spool.settle(
            "a.json", try spool.open("a.json").stamp, faults: "line 1: bad\n")

        #expect(isMoved)
        #expect(
            try contents() == [
                "rejected": "", "rejected/a.json": "bad", "rejected/a.json.reason": "line 1: bad\n",
            ])
        #expect(try spool.rejected() == 1)
    }

    @Test(arguments: ["replaced", "written", "gone"])
    func `a file that is another one by now waits for its own turn`(how: String) throws {
        let spool = try SpoolFolder(SourcePlace(folder.path))
        try folder.write("a.json", Array("one".utf8))
        let stamp = try spool.open("a.json").stamp
        switch how {
        case "replaced":
            try folder.write("b.tmp", Array("two".utf8))
            rename("\(folder.path)/b.tmp", "\(folder.path)/a.json")
        case "written": try folder.write("a.json", Array("longer".utf8))
        default: unlink("\(folder.path)/a.json")
        }

        let isMoved = try spool.settle("a.json", stamp, faults: nil)

        #expect(!isMoved)
        #expect(try contents().keys.contains("a.json") == (how != "gone"))
        #expect(try !contents().keys.contains("done/a.json"))
    }

    @Test func `a link in the place of done is not followed`() throws {
        let elsewhere = try TemporaryFolder()
        symlink(elsewhere.path, "\(folder.path)/done")
        try folder.write("a.json", [1])
        let spool = try SpoolFolder(SourcePlace(folder.path))

        #expect(throws: SourceError.symbolicLink(path: "\(folder.path)/done")) {
            try spool.settle("a.json", try spool.open("a.json").stamp, faults: nil)
        }
        #expect(try elsewhere.contents() == [:])
    }

    @Test func `a link in the place of a file is not followed`() throws {
        try folder.write("real", [1])
        symlink("\(folder.path)/real", "\(folder.path)/a.json")

        #expect(throws: SourceError.self) {
            try SpoolFolder(SourcePlace(folder.path)).open("a.json")
        }
    }

    @Test func `a move that fails leaves nothing behind`() throws {
        let spool = try SpoolFolder(SourcePlace(folder.path))
        mkdir("\(folder.path)/a.json", 0o700)
        var status = stat()
        stat("\(folder.path)/a.json", &status)

        // A folder cannot be renamed over the file that reserves its name.
        #expect(throws: SourceError.self) {
            try spool.settle("a.json", RegularFile.Stamp(status), faults: "line 1: bad\n")
        }

        #expect(try contents().keys.sorted() == ["a.json", "rejected"])
    }
}
