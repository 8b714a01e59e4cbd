@preconcurrency import Glibc

/// Wakes the other processes that share a history, so that they look at it.
///
/// Writes one byte to the lock file of each owner in `owners/`. A process that watches its own file
/// wakes up (`IN_CLOSE_WRITE`, inotify(7)); the others do not notice.
struct ChangeSignals {
    let folder: String
    let ownOwner: String

    /// Signals every other owner, and ignores failures: each process eventually looks again without
    /// a signal.
    func send() {
        guard let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        let descriptor = dirfd(listing)
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix("."), name != ownOwner else { continue }
            let file = openat(descriptor, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { continue }
            // Overwrite the previous byte, so that the file never grows.
            var byte: UInt8 = 0x0A
            write(file, &byte, 1)
            close(file)
        }
    }
}
