import Glibc

/// For how many seconds nothing has been written to what is at a path, itself where it is a link; by
/// the wall clock, so less than 0 where that was set back. `nil` where there is nothing.
public func secondsSinceWritten(_ path: String) -> Int? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return time(nil) - status.st_mtim.tv_sec
}
