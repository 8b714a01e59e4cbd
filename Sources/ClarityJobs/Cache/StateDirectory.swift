@preconcurrency internal import Glibc

/// The directory with everything that this program keeps.
struct StateDirectory: Sendable {
    let path: String

    /// The file with health data.
    var healthPath: String { "\(path)/health.db" }

    /// Whether health data was ever kept here. A file without content is one whose making was cut
    /// short before anything was in it.
    var hasHealth: Bool {
        var status = stat()
        return stat(healthPath, &status) == 0 && status.st_size > 0
    }

    /// Makes the directory and those above it where they are missing, for the owner alone.
    func make() throws(HealthStoreError) {
        var prefix = path.hasPrefix("/") ? "" : "."
        for component in path.split(separator: "/") {
            prefix += "/\(component)"
            if mkdir(prefix, 0o700) != 0, errno != EEXIST {
                // A directory above that may not be written to exists nevertheless.
                let code = errno
                var status = stat()
                guard stat(prefix, &status) == 0 else {
                    throw .directory(path: path, errno: code)
                }
            }
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw .directory(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .directory(path: path, errno: ENOTDIR)
        }
    }

    /// Makes an empty file of mode 0600 unless there is a file; SQLite gives the files beside it
    /// the same mode.
    func makeHealthFile() throws(HealthStoreError) {
        let descriptor = open(healthPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .directory(path: path, errno: errno) }
        close(descriptor)
    }
}
