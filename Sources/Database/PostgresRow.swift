import CPostgreSQL

/// A row of a result of PostgreSQL, whose values are text.
struct PostgresRow {
    let library: UnsafePointer<cpostgresql>
    let result: OpaquePointer
    let row: Int32

    var columnCount: Int32 { library.pointee.PQnfields(result) }

    func isNull(_ column: Int32) -> Bool { library.pointee.PQgetisnull(result, row, column) != 0 }

    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: library.pointee.PQgetvalue(result, row, column),
            count: Int(library.pointee.PQgetlength(result, row, column)))
    }

    /// The column as an integer; a boolean is `t` or `f`, and a sum of integers may have a fraction.
    func integer(_ column: Int32) -> Int64 {
        let text = bytes(column)
        guard let first = text.first else { return 0 }
        if first == UInt8(ascii: "t") { return 1 }
        let digits = text.prefix { $0 != UInt8(ascii: ".") }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    func real(_ column: Int32) -> Double {
        Double(String(decoding: bytes(column), as: UTF8.self)) ?? 0
    }

    /// The column as bytes: two hexadecimal digits for each after `\x` in a column of type `bytea`
    /// (PostgreSQL's documentation, 8.4.1), and the text itself in every other.
    func blob(_ column: Int32) -> [UInt8] {
        let text = bytes(column)
        let bytea: UInt32 = 17
        guard library.pointee.PQftype(result, column) == bytea, text.count >= 2 else {
            return Array(text)
        }
        return [UInt8](unsafeUninitializedCapacity: text.count / 2 - 1) { bytes, count in
            for place in 0..<(text.count / 2 - 1) {
                bytes[place] =
                    PostgresRow.digit(text[2 * place + 2]) << 4
                    | PostgresRow.digit(text[2 * place + 3])
            }
            count = text.count / 2 - 1
        }
    }

    /// The value of a digit; the server writes them in lower case.
    private static func digit(_ byte: UInt8) -> UInt8 {
        byte <= UInt8(ascii: "9") ? byte - UInt8(ascii: "0") : byte - UInt8(ascii: "a") + 10
    }
}
