import Glibc

/// Returns the number of seconds since the last write at a path, or `nil` if nothing is there.
///
/// A symbolic link is not followed. The result is negative if the wall clock was set back.
public func secondsSinceWritten(_ path: String) -> Int? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return time(nil) - status.st_mtim.tv_sec
}
