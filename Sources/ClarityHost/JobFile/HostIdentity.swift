@preconcurrency import Glibc
import ClarityScheduler

/// Tells this machine from others, without telling which it is.
public enum HostIdentity {
    /// A text that stays the same across restarts, updates and changes of the network.
    ///
    /// It is a hash of the file `machine-id`, which machine-id(5) asks to be kept to the machine and
    /// to be used as a hash only; the host's name where there is no such file.
    public static func text(configuration: String = "/etc") -> String {
        guard let id = machineID("\(configuration)/machine-id") else { return hostName }
        var hash = StableHash()
        hash.combine("clarity-jobs host")
        hash.combine(id)
        return String(hash.value, radix: 16)
    }

    /// The 32 digits of the file; `nil` where it holds something else, such as `uninitialized`.
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
