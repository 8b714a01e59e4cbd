import ClarityTestSupport
@preconcurrency import Glibc
import Testing

@testable import Platform

@Suite struct ReplacementTests {
    @Test func `the state directory may be reached over a link`() throws {
        let folder = try TemporaryFolder()
        mkdir("\(folder.path)/real", 0o700)
        symlink("real", "\(folder.path)/link")
        try folder.write("real/health.db", [1])
        let replacement = Replacement(in: "\(folder.path)/link")

        let draft = try replacement.makeDraft()
        try DurableFile.write("new", to: "\(draft)/health.db")
        try replacement.commit(aside: "damaged-1")
        let aside = try replacement.finish()

        #expect(aside == "\(folder.path)/link/damaged-1")
        #expect(!replacement.isBegun)
        #expect(try TemporaryFolder.read("\(folder.path)/real/health.db") == Array("new".utf8))
        #expect(try TemporaryFolder.read("\(folder.path)/real/damaged-1/health.db") == [1])
    }
}
