/// What of a pulled metric is sealed: the backend's id, and behind it the numbers and the JSON.
///
/// A byte 2, the length of the id (16 bits), the id; then the rest. A row of an earlier release has the
/// rest alone, and the id in the clear; the rest never begins with that byte.
enum MetricForm {
    private static let mark: UInt8 = 2
    /// The bytes before the id.
    private static let head = 3

    /// Puts the id in front of the rest, unless one is there.
    static func adding(_ id: String, to rest: [UInt8]) -> [UInt8] {
        guard rest.first != mark else { return rest }
        let name = Array(id.utf8.prefix(Int(UInt16.max)))
        var form: [UInt8] = [mark]
        form.reserveCapacity(head + name.count + rest.count)
        form.append(littleEndian: UInt16(name.count))
        return form + name + rest
    }

    /// Where the rest begins: 0 in a form without an id.
    static func restStart(in form: UnsafeRawBufferPointer) -> Int {
        guard form.count >= head, form[0] == mark else { return 0 }
        return min(form.count, head + Int(form[1]) + Int(form[2]) << 8)
    }

    /// The id and the rest; `nil` for the id in a form without one.
    static func parts(of form: [UInt8]) -> (id: String?, rest: [UInt8]) {
        let start = form.withUnsafeBytes { restStart(in: $0) }
        guard start > 0 else { return (nil, form) }
        return (String(decoding: form[head..<start], as: UTF8.self), Array(form[start...]))
    }
}
