import ClarityTestSupport
import Glibc
import Testing

@testable import clarity_jobs_web

@Suite("The file for the node exporter")
struct MetricsFileTests {
    @Test func `the file is replaced, and nothing is written through a planted link`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("a.prom", Array("old".utf8))
        let other = try folder.write("other", Array("other".utf8))
        #expect(symlink(other, "\(path).\(getpid())") == 0)

        try MetricsFile.write("new\n", to: path)

        #expect(
            try folder.contents() == ["a.prom": Array("new\n".utf8), "other": Array("other".utf8)])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o644)
    }

    @Test func `a file that cannot be replaced leaves nothing behind`() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/a.prom"
        #expect(mkdir(path, 0o700) == 0)

        let fault = #expect(throws: MetricsCollector.Fault.self) {
            try MetricsFile.write("new\n", to: path)
        }

        #expect(fault?.reason == "cannot write `\(path)`: Is a directory")
        #expect(try folder.contents() == ["a.prom": []])
    }
}
