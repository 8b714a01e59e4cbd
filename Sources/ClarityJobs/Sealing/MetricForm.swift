/// The encrypted form of a pulled metric: the backend's id, then the numbers and the JSON.
///
/// It consists of a byte 2, the length of the id (16 bits), the id, and the rest. A row of an
/// earlier release has only the rest here, and its id unencrypted; the rest never begins with a
/// byte 2.
enum MetricForm {
    private static let mark: UInt8 = 2
    /// The number of bytes before the id.
    private static let head = 3

    /// Puts the id in front of the rest, unless there is one already.
    static func adding(_ id: String, to rest: [UInt8]) -> [UInt8] {
        guard rest.first != mark else { return rest }
        let name = Array(id.utf8.prefix(Int(UInt16.max)))
        var form: [UInt8] = [mark]
        form.reserveCapacity(head + name.count + rest.count)
        form.append(littleEndian: UInt16(name.count))
        return form + name + rest
    }

    /// Returns where the rest begins: 0 in a form without an id.
    static func restStart(in form: UnsafeRawBufferPointer) -> Int {
        guard form.count >= head, form[0] == mark else { return 0 }
        return min(form.count, head + Int(form[1]) + Int(form[2]) << 8)
    }

    /// Returns the id and the rest; the id is `nil` in a form without one.
    static func parts(of form: [UInt8]) -> (id: String?, rest: [UInt8]) {
        let start = form.withUnsafeBytes { restStart(in: $0) }
        guard start > 0 else { return (nil, form) }
        return (String(decoding: form[head..<start], as: UTF8.self), Array(form[start...]))
    }
}
