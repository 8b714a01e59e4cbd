/// What a server has of a part, as far as a job sent it and the server answered.
public struct SentResources: Hashable, Sendable {
    /// A resource as it was stored.
    public struct Version: Hashable, Sendable {
        /// A digest of the content; 0 where the id already tells it.
        public var content: UInt64
        /// A digest of the server's own name of the version; 0 if it named none.
        public var server: UInt64

        public init(content: UInt64, server: UInt64) {
            (self.content, self.server) = (content, server)
        }

        /// What most resources are: of a content that never changes, in their first version.
        fileprivate static let usual = Version(content: 0, server: Version.digest("1"))

        /// Returns the digest of a server's name of a version (FNV-1a).
        public static func digest(_ name: some StringProtocol) -> UInt64 {
            name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        }
    }

    /// Those that the server has.
    public var confirmed: [FHIRID: Version] = [:]
    /// The contents that it refused for what they say, and would refuse again.
    public var refused: [FHIRID: UInt64] = [:]
    /// Those of which the server has been told that they were entered in error.
    public var withdrawn: Set<FHIRID> = []
    /// Those that a person erased there, which are not sent again.
    public var erased: Set<FHIRID> = []
    /// How many records of the archive the part covers once the server has answered all of it.
    public var records: Int64 = 0

    public init() {}

    /// Whether nothing is to be sent of a resource with this content.
    public func isSettled(_ id: FHIRID, _ content: UInt64) -> Bool {
        confirmed[id]?.content == content || refused[id] == content || erased.contains(id)
    }

    public mutating func confirm(_ id: FHIRID, _ version: Version) {
        leaveOthers(id)
        confirmed[id] = version
    }

    public mutating func withdraw(_ id: FHIRID) {
        leaveOthers(id)
        confirmed[id] = nil
        withdrawn.insert(id)
    }

    public mutating func erase(_ id: FHIRID) {
        leaveOthers(id)
        confirmed[id] = nil
        erased.insert(id)
    }

    /// Takes a resource out of all states but `confirmed`. Nearly always none of them has any.
    private mutating func leaveOthers(_ id: FHIRID) {
        if !refused.isEmpty { refused[id] = nil }
        if !withdrawn.isEmpty { withdrawn.remove(id) }
        if !erased.isEmpty { erased.remove(id) }
    }
}

extension SentResources {
    func append(to plain: inout [UInt8]) {
        let others = confirmed.values.count { $0 != .usual }
        let usual = confirmed.count - others
        plain.reserveCapacity(plain.count + 16 * usual + 32 * others + 64)
        plain.append(littleEndian: UInt64(usual))
        for (id, version) in confirmed where version == .usual { plain.append(id) }
        plain.append(littleEndian: UInt64(others))
        for (id, version) in confirmed where version != .usual {
            plain.append(id)
            plain.append(littleEndian: version.content)
            plain.append(littleEndian: version.server)
        }
        plain.append(littleEndian: UInt64(refused.count))
        for (id, content) in refused {
            plain.append(id)
            plain.append(littleEndian: content)
        }
        for ids in [withdrawn, erased] {
            plain.append(littleEndian: UInt64(ids.count))
            for id in ids { plain.append(id) }
        }
        plain.append(littleEndian: UInt64(bitPattern: records))
    }

    /// Reads what `append` wrote; `nil` for anything else.
    init?(_ reader: inout ByteReader) {
        guard
            reader.list({ reader in
                guard let id = reader.resourceID() else { return false }
                confirmed[id] = .usual
                return true
            }),
            reader.list({ reader in
                guard let id = reader.resourceID(), let content = reader.number(UInt64.self),
                    let server = reader.number(UInt64.self)
                else { return false }
                confirmed[id] = Version(content: content, server: server)
                return true
            }),
            reader.list({ reader in
                guard let id = reader.resourceID() else { return false }
                refused[id] = reader.number(UInt64.self)
                return refused[id] != nil
            }),
            reader.list({ reader in
                reader.resourceID().map { withdrawn.insert($0) } != nil
            }),
            reader.list({ reader in
                reader.resourceID().map { erased.insert($0) } != nil
            }),
            let records = reader.number(UInt64.self), reader.isAtEnd
        else { return nil }
        self.records = Int64(bitPattern: records)
    }
}

extension ByteReader {
    mutating func resourceID() -> FHIRID? {
        guard let high = number(UInt64.self), let low = number(UInt64.self) else { return nil }
        return FHIRID(high: high, low: low)
    }

    /// Reads a number and so many elements; returns whether all were there.
    mutating func list(_ read: (inout ByteReader) -> Bool) -> Bool {
        guard let count = number(UInt64.self) else { return false }
        for _ in 0..<count {
            guard read(&self) else { return false }
        }
        return true
    }
}

extension [UInt8] {
    mutating func append(_ id: FHIRID) {
        append(littleEndian: id.high)
        append(littleEndian: id.low)
    }
}
