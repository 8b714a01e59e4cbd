import Glibc

/// A temporary directory, which `deinit` removes with the sandbox's database.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/clarity-sandbox-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(code: errno) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        for name in ["sandbox.db", "sandbox.db-wal", "sandbox.db-shm"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    struct Failure: Error { var code: Int32 }
}
