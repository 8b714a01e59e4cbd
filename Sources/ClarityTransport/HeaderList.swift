import ClarityContract
import CCurl

/// The header fields of a request, in libcurl's form.
struct HeaderList: ~Copyable {
    private(set) var pointer: UnsafeMutablePointer<curl_slist>?

    /// Checks `headers` and adds them in their order.
    ///
    /// - Throws: `TransportError.refused` for a name that is not a token of RFC 9110, and for a
    ///   value that is empty or holds a control character: a line break would begin another field.
    init(_ headers: [HTTPHeader]) throws(TransportError) {
        pointer = nil
        for header in headers {
            guard HeaderList.isName(header.name) else {
                throw .refused("a header's name is no HTTP token")
            }
            guard HeaderList.isValue(header.text) else {
                throw .refused("the header `\(header.name)` is empty or holds a control character")
            }
            try append("\(header.name): \(header.text)")
        }
        // A name without a value removes the field. Otherwise libcurl would wait a second for
        // permission to send a larger body, even from servers that do not know this field.
        try append("Expect:")
    }

    deinit { curl_slist_free_all(pointer) }

    private mutating func append(_ line: String) throws(TransportError) {
        guard let longer = curl_slist_append(pointer, line) else {
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        pointer = longer
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func isValue(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
