@preconcurrency import Glibc

/// Tells the other processes that share a history to look at it.
///
/// One byte is written to the lock file of each owner in `owners/`: whoever watches its own file
/// wakes up (`IN_CLOSE_WRITE`, inotify(7)), the others never notice.
struct ChangeSignals {
    let folder: String
    let ownOwner: String

    /// Nudges every other owner; does nothing where that cannot be done, since each looks again by
    /// itself in the end.
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
            // Over the last one, so that the file never grows.
            var byte: UInt8 = 0x0A
            write(file, &byte, 1)
            close(file)
        }
    }
}
