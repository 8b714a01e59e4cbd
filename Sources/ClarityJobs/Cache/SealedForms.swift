import ClarityScheduler

// What of a sample and of a session is sealed, as bytes.

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

extension Session {
    var sealedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: userID)
        bytes.append(field: email)
        bytes.append(field: accessToken.reveal())
        bytes.append(field: refreshToken.reveal())
        bytes.append(littleEndian: expiresAt.millisecondsSince1970)
        bytes.append(field: backend)
        return bytes
    }

    /// `nil` when the bytes are none of `sealedForm`.
    init?(sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
        guard let userID = reader.field(), let email = reader.field(),
            let access = reader.field(), let refresh = reader.field(),
            let expiry = reader.number(Int64.self),
            let backend = reader.isAtEnd ? "" : reader.field()
        else { return nil }
        self.init(
            userID: userID, email: email, accessToken: Secret(access),
            refreshToken: Secret(refresh), expiresAt: Instant(millisecondsSince1970: expiry),
            backend: backend)
    }
}
