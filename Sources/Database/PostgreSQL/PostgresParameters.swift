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

/// The values of a column, as an array in PostgreSQL's binary form: what `array_recv` takes
/// (src/backend/utils/adt/arrayfuncs.c).
struct PostgresArray {
    /// The types that columns have, by their numbers in `pg_type`.
    enum Element: UInt32 {
        case blob = 17
        case integer = 20
        case text = 25
        case real = 701

        var name: String {
            switch self {
            case .blob: "bytea"
            case .integer: "bigint"
            case .text: "text"
            case .real: "double precision"
            }
        }
    }

    let element: Element
    private(set) var count = 0
    private var hasNull = false
    private var bytes: [UInt8] = []

    init(of element: Element) { self.element = element }

    /// Appends a value; returns whether it has the type, or becomes it without a loss.
    mutating func append(_ value: Value) -> Bool {
        switch (value, element) {
        case (.null, _):
            append(UInt32.max)
            hasNull = true
            count += 1
        case (.integer(let number), .integer):
            append(length: 8) { $0.append(UInt64(bitPattern: number)) }
        case (.integer(let number), .real):
            append(length: 8) { $0.append(Double(number).bitPattern) }
        case (.real(let number), .real):
            append(length: 8) { $0.append(number.bitPattern) }
        case (.text(let text), .text):
            append(length: text.utf8.count) { $0.bytes += text.utf8 }
        case (.blob(let blob), .blob):
            append(length: blob.count) { $0.bytes += blob }
        default: return false
        }
        return true
    }

    /// Appends bytes; returns whether they are of the type.
    mutating func append(_ value: UnsafeRawBufferPointer, as type: Element) -> Bool {
        guard type == element else { return false }
        append(length: value.count) { $0.bytes += value }
        return true
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        (count, hasNull) = (0, false)
    }

    /// The array, with its dimension before the elements.
    var encoded: [UInt8] {
        var header = PostgresArray(of: element)
        for number in [1, hasNull ? 1 : 0, element.rawValue, UInt32(count), 1] as [UInt32] {
            header.append(number)
        }
        return header.bytes + bytes
    }

    private mutating func append(length: Int, _ add: (inout PostgresArray) -> Void) {
        append(UInt32(length))
        add(&self)
        count += 1
    }

    private mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }
}
