import Platform
import ClarityTestSupport
import Glibc
import Testing

struct StateDirectoryTests {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        stat(path, &status)
        return status.st_mode & 0o777
    }

    @Test func `the directory is made with its parents, for the owner alone`() throws {
        let folder = try TemporaryFolder()

        let directory = try StateDirectory(path: "\(folder.path)/a/b")
        let owners = try directory.makeFolder("owners")

        for path in ["\(folder.path)/a", directory.path, owners] { #expect(mode(path) == 0o700) }
        #expect(try StateDirectory(path: directory.path) == directory)
    }

    @Test func `a directory that was open to others is closed to them`() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o755)

        _ = try StateDirectory(path: folder.path)

        #expect(mode(folder.path) == 0o700)
    }

    @Test func `a file in place of the directory is reported`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("state", [])

        let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: path) }

        #expect(error?.description == "cannot use state directory `\(path)`: it is no folder")
        #expect(error?.isDisk == false)
    }

    @Test func `a full disk is told from a missing permission`() {
        #expect(StateDirectoryError(path: "/s", errno: ENOSPC).isDisk)
        #expect(!StateDirectoryError(path: "/s", errno: EACCES).isDisk)
        #expect(
            StateDirectoryError(path: "/s", errno: EACCES).description
                == "cannot use state directory `/s`: permission denied")
    }
}
