import ClarityTestSupport
import Glibc
import Testing

@testable import Platform

@Suite struct PlainPathTests {
    @Test(arguments: [
        ("/a/auto/", "/a/auto"), ("/a//./auto/.", "/a/auto"), ("/a/../b", "/a/../b"), ("/", "/"),
        ("//", "/"), ("a/b", "a/b"), ("./a", "a"), ("./", "."), ("", ""), ("../a/", "../a"),
    ])
    func `a path is plain without what leads nowhere`(path: String, plain: String) {
        #expect(PlainPath.of(path) == plain)
    }

    @Test(arguments: [
        ("/none/x/../auto", "/none/auto"), ("/../../none", "/none"), ("../none", "../none"),
        ("none/../../x", "../x"), ("/none/..", "/"), ("none/..", "."), ("../../none", "../../none"),
    ])
    func `a part and the way back from it come to nothing`(path: String, shortest: String) {
        #expect(PlainPath.shortest(path) == shortest)
    }

    @Test func `the way back from behind a link is not the way there`() throws {
        let folder = try TemporaryFolder()
        mkdir("\(folder.path)/a", 0o700)
        mkdir("\(folder.path)/a/b", 0o700)
        symlink("\(folder.path)/a/b", "\(folder.path)/link")
        for name in ["file", "a/file"] { try folder.write(name, [1]) }

        #expect(PlainPath.shortest("\(folder.path)/a/../file") == "\(folder.path)/file")
        #expect(
            PlainPath.shortest("\(folder.path)/./link/../file") == "\(folder.path)/link/../file")
    }
}
