@preconcurrency import Glibc
import ClarityScheduler

/// Identifies this machine without revealing which one it is.
public enum HostIdentity {
    /// Returns a text that stays the same across restarts, updates and network changes.
    ///
    /// It is a hash of the file `machine-id`. machine-id(5) asks programs to keep the id
    /// confidential and to use only a hash of it. Without a valid file, it is the name of the host.
    public static func text(configuration: String = "/etc") -> String {
        guard let id = machineID("\(configuration)/machine-id") else { return hostName }
        var hash = StableHash()
        hash.combine("clarity-jobs host")
        hash.combine(id)
        return String(hash.value, radix: 16)
    }

    /// Returns the 32 digits in the file; `nil` if it contains something else, such as
    /// `uninitialized`.
    private static func machineID(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, buffer.count)
        let line = buffer.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }
        let text = String(decoding: line, as: UTF8.self)
        return text.utf8.count == 32 && text.allSatisfy(\.isHexDigit) ? text : nil
    }

    private static var hostName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
