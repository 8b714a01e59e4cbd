import HealthModel
import ClarityScheduler

// The encrypted forms of a session and of its record.

extension Session {
    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: userID)
        bytes.append(field: email)
        bytes.append(field: accessToken.reveal())
        bytes.append(field: refreshToken.reveal())
        bytes.append(littleEndian: expiresAt.millisecondsSince1970)
        bytes.append(field: backend)
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `encryptedForm`.
    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
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

extension SessionRecord {
    init(_ session: Session, loggedInAt: Instant?) {
        self.init(email: session.email, backend: session.backend, loggedInAt: loggedInAt)
    }

    private static let version: UInt8 = 1

    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = [SessionRecord.version]
        bytes.append(field: email)
        bytes.append(field: backend)
        for instant in [loggedInAt, renewedAt, refusal?.at, trouble?.since] {
            bytes.append(littleEndian: instant == nil ? UInt8(0) : 1)
            bytes.append(littleEndian: instant?.millisecondsSince1970 ?? 0)
        }
        bytes.append(field: refusal?.reason ?? "")
        bytes.append(littleEndian: Int64(trouble?.count ?? 0))
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `encryptedForm`.
    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard reader.number(UInt8.self) == SessionRecord.version, let email = reader.field(),
            let backend = reader.field()
        else { return nil }
        var instants: [Instant?] = []
        for _ in 0..<4 {
            guard let isKnown = reader.number(UInt8.self), let time = reader.number(Int64.self)
            else { return nil }
            instants.append(isKnown == 1 ? Instant(millisecondsSince1970: time) : nil)
        }
        guard let reason = reader.field(), let count = reader.number(Int64.self) else { return nil }
        self.init(email: email, backend: backend, loggedInAt: instants[0])
        renewedAt = instants[1]
        refusal = instants[2].map { Refusal(at: $0, reason: reason) }
        trouble = instants[3].map { Trouble(since: $0, count: Int(clamping: count)) }
    }
}
