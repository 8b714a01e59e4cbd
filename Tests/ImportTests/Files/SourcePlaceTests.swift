import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import Import

@Suite struct SourcePlaceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["disk", "disk/ben", "disk/ben/hae", "anna", "anna/hae"] {
            try #require(mkdir("\(folder.path)/\(name)", 0o700) == 0)
        }
        try folder.write("anna/hae/a.json", [1])
        try folder.write("disk/ben/hae/a.json", [2])
        try #require(symlink("disk", "\(folder.path)/linked") == 0)
    }

    private func place(_ path: String) -> SourcePlace {
        SourcePlace(
            "\(folder.path)/linked/\(path)", .refusedInAccount(below: "\(folder.path)/linked"))
    }

    private func byte(_ place: SourcePlace) throws -> [UInt8] { try OpenFile(place).head(1) }

    @Test func `links are followed above an account's folder`() throws {
        #expect(try byte(place("ben/hae/a.json")) == [2])
        #expect(try OpenFolder(place("ben/hae")).names { !$0.hasPrefix(".") } == ["a.json"])
    }

    @Test(arguments: [
        ("ben/hae/b.json", "../../../anna/hae/a.json"), ("ben/two", "../../anna/hae"),
        ("two", "../anna"),
    ])
    func `no component of an account's path is a link`(path: String, target: String) throws {
        let link = "\(folder.path)/linked/\(path)"
        try #require(symlink(target, link) == 0)
        let end = ["two": "/hae/a.json", "ben/two": "/a.json"][path] ?? ""
        let place = place(path + end)

        #expect(throws: SourceError.symbolicLink(path: link)) { try OpenFile(place) }
        if !end.isEmpty {
            #expect(throws: SourceError.symbolicLink(path: link)) { try place.remove() }
        }
        #expect(try TemporaryFolder.read("\(folder.path)/anna/hae/a.json") == [1])
    }

    @Test func `a folder that was opened stays the same when a link takes its place`() throws {
        let opened = try OpenFolder(place("ben/hae"))
        try #require(rename("\(folder.path)/disk/ben/hae", "\(folder.path)/disk/ben/old") == 0)
        try #require(symlink("../../anna/hae", "\(folder.path)/disk/ben/hae") == 0)

        #expect(try OpenFile("a.json", in: opened).head(1) == [2])
        opened.remove("a.json")

        #expect(try TemporaryFolder.read("\(folder.path)/anna/hae/a.json") == [1])
        #expect(access("\(folder.path)/disk/ben/old/a.json", F_OK) != 0)
    }

    @Test func `a file of an account has one name`() throws {
        let name = "\(folder.path)/disk/ben/hae/b.json"
        try #require(link("\(folder.path)/anna/hae/a.json", name) == 0)
        let place = place("ben/hae/b.json")

        #expect(throws: SourceError.hardLink(path: place.path)) { try OpenFile(place) }
    }

    @Test func `one person's own link is followed, but none in the folder`() throws {
        let path = "\(folder.path)/linked/ben"
        try #require(symlink("../../anna/hae/a.json", "\(folder.path)/disk/ben/b.json") == 0)
        let source = SourcePlace(path)

        #expect(try byte(source.inside("hae").inside("a.json")) == [2])
        #expect(try byte(SourcePlace("\(path)/b.json")) == [1])
        #expect(throws: SourceError.symbolicLink(path: "\(path)/b.json")) {
            try OpenFile(source.inside("b.json"))
        }
    }

    @Test func `one person's second name of a file counts only if another user owns it`() throws {
        let path = "\(folder.path)/disk/ben/hae"
        try #require(link("\(path)/a.json", "\(path)/b.json") == 0)
        let place = SourcePlace(path).inside("b.json")

        #expect(try byte(place) == [2])
        // Only root can give a file away.
        guard getuid() == 0 else { return }
        try #require(chown("\(path)/a.json", 65_534, 65_534) == 0)

        #expect(throws: SourceError.hardLink(path: place.path)) { try OpenFile(place) }
    }
}
