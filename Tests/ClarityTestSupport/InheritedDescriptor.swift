import Glibc

/// Another descriptor of an open file of this process, as a child has one after fork(2) until it
/// begins its program.
public final class InheritedDescriptor {
    private let number: Int32

    /// Returns `nil` if this process has no such file open.
    public init?(of path: String) {
        guard let listing = opendir("/proc/self/fd") else { return nil }
        defer { closedir(listing) }
        var found: Int32 = -1
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let open = Int32(name) else { continue }
            var target = [UInt8](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/\(name)", &target, target.count)
            if length > 0, String(decoding: target[..<length], as: UTF8.self) == path {
                found = open
            }
        }
        number = found < 0 ? -1 : dup(found)
        if number < 0 { return nil }
    }

    deinit { close(number) }
}
