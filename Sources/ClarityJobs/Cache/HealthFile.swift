import ClaritySystem
@preconcurrency import Glibc

/// The file with health data in a state directory.
struct HealthFile: Sendable {
    let directory: String

    init(in directory: String) { self.directory = directory }

    var path: String { "\(directory)/health.db" }

    /// Whether health data was ever kept here. A file without content is one whose making was cut
    /// short before anything was in it.
    var exists: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_size > 0
    }

    /// Makes an empty file of mode 0600 unless there is a file, and closes one to others that was
    /// open to them; SQLite gives the files that it makes beside it the same mode.
    func make() throws(HealthStoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw fault() }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw fault() }
        for suffix in ["-wal", "-shm"] where chmod(path + suffix, 0o600) != 0 && errno != ENOENT {
            throw fault()
        }
    }

    private func fault() -> HealthStoreError {
        .directory(StateDirectoryError(path: directory, errno: errno))
    }
}
