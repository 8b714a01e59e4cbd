@preconcurrency import Glibc

/// A database path in its own folder, which `deinit` removes with the database's files.
final class TemporaryFile {
    let path: String
    private let folder: String

    init(_ name: String = "test.db") {
        var template = Array("/tmp/clarity-sqlite-test.XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "cannot make a temporary folder: \(errno)")
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(folder)/\(name)"
    }

    deinit {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
        rmdir(folder)
    }
}
