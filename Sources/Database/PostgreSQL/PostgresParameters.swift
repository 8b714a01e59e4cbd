/// Values as libpq takes them: numbers as text, bytes as they are.
struct PostgresParameters {
    private var bytes: [[UInt8]?]
    private var formats: [Int32]

    init(_ values: [Value]) {
        bytes = values.map { value in
            switch value {
            case .null: nil
            case .integer(let number): Array("\(number)\0".utf8)
            case .real(let number): Array("\(number)\0".utf8)
            case .text(let text): Array(text.utf8) + [0]
            // One byte more, so that an empty blob has an address too.
            case .blob(let bytes): bytes + [0]
            }
        }
        formats = values.map { if case .blob = $0 { 1 } else { 0 } }
    }

    /// Takes arrays in binary form, one for each column of the rows to insert.
    init(arrays: [PostgresArray]) {
        bytes = arrays.map { $0.encoded + [0] }
        formats = arrays.map { _ in 1 }
    }

    var count: Int { bytes.count }

    /// The length of all values.
    var size: Int { bytes.reduce(0) { $0 + ($1?.count ?? 0) } }

    func withPointers<Result>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        let whole = bytes.flatMap { $0 ?? [] }
        return whole.withUnsafeBytes { whole in
            var start = 0
            let pointers = bytes.map { value -> UnsafePointer<CChar>? in
                guard let value else { return nil }
                defer { start += value.count }
                return whole.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self)
            }
            let lengths = bytes.map { Int32(clamping: ($0?.count ?? 1) - 1) }
            return pointers.withUnsafeBufferPointer { pointers in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}
