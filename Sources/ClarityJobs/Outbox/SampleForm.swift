import ClarityScheduler

// What of a sample is sealed, as bytes.

extension Sample {
    /// The value and the source; kind and times are columns of the row.
    var sealedForm: [UInt8] {
        var bytes: [UInt8] = []
        switch value {
        case .single(let number):
            bytes.append(1)
            bytes.append(littleEndian: number.bitPattern)
        case .pressure(let systolic, let diastolic):
            bytes.append(2)
            bytes.append(littleEndian: Int64(systolic))
            bytes.append(littleEndian: Int64(diastolic))
        }
        if let source { bytes.append(field: source) }
        return bytes
    }

    /// The sample of a row; `nil` when the bytes are none of `sealedForm`.
    init?(kind: SampleKind, start: Instant, end: Instant, sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
        let value: Value
        switch reader.number(UInt8.self) {
        case 1:
            guard let bits = reader.number(UInt64.self) else { return nil }
            value = .single(Double(bitPattern: bits))
        case 2:
            guard let systolic = reader.number(Int64.self),
                let diastolic = reader.number(Int64.self)
            else { return nil }
            value = .pressure(systolic: Int(systolic), diastolic: Int(diastolic))
        default: return nil
        }
        let source: String?
        if reader.isAtEnd {
            source = nil
        } else {
            guard let name = reader.field() else { return nil }
            source = name
        }
        self.init(kind: kind, start: start, end: end, value: value, source: source)
    }
}
