import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

@Suite struct ProgramSearchTests {
    @Test func `a name is looked for in the absolute folders of the path, in their order`() throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b", "c"] { mkdir("\(folder.path)/\(name)", 0o700) }
        for file in ["b/ask", "c/ask"] { chmod(try folder.write(file, "x".utf8), 0o700) }
        let search =
            "relative::\(folder.path)/none:\(folder.path)/a:\(folder.path)/b:"
            + "\(folder.path)/c"

        #expect(ProgramSearch.path(of: "ask", in: search) == "\(folder.path)/b/ask")
        #expect(ProgramSearch.path(of: "other", in: search) == nil)
    }

    @Test func `what cannot be run is passed over`() throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b", "c", "a/ask"] { mkdir("\(folder.path)/\(name)", 0o700) }
        chmod(try folder.write("b/ask", "x".utf8), 0o600)
        chmod(try folder.write("c/ask", "x".utf8), 0o700)
        let folders = ["a", "b", "c"].map { "\(folder.path)/\($0)" }

        #expect(
            ProgramSearch.path(of: "ask", in: folders.joined(separator: ":"))
                == "\(folder.path)/c/ask")
        #expect(
            ProgramSearch.path(of: "ask", in: folders[..<2].joined(separator: ":")) == nil)
    }

    @Test(
        arguments: [
            ("/nowhere/ask", "/nowhere/ask"), ("bin/ask", nil), ("./ask", nil), ("", nil),
        ] as [(String, String?)])
    func `what has a slash is an absolute path or nothing`(name: String, path: String?) {
        #expect(ProgramSearch.path(of: name, in: "/usr/bin:/bin") == path)
    }

    @Test func `without a path the usual folders are searched`() {
        #expect(ProgramSearch.path(of: "sh", in: nil)?.hasSuffix("/sh") == true)
        #expect(ProgramSearch.path(of: "sh", in: "") == nil)
    }
}
