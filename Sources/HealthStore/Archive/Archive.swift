package import ClarityScheduler
import Database

/// A person's own copy of every record that a source had, whether the backend has a field for it or
/// not.
///
/// The records of a type and month are one segment or a few: compressed, padded to a size class,
/// which tells within 6 % how much was measured, and encrypted for type, month and generation.
/// Records that come again, in any order, are found by a fingerprint of each source, type and month;
/// only where it differs are the stored records opened and compared.
public struct Archive: Sendable {
    let store: HealthStore

    /// The months that are written in one transaction.
    private static let portion = 64
    /// The most segments of a month: one more makes one of all.
    private static let mostParts = 8
    /// Records are few beside this many times as many.
    private static let smallShare = 8
    /// The most bytes of text in a segment: a quarter of what can be read again. A month of
    /// documents may have more, which makes several segments.
    private static let mostText = 1 << 26

    private struct Tools {
        let compressor: Compressor
        let decompressor: Decompressor

        init() throws(ArchiveError) {
            compressor = try Compressor(level: 3)
            decompressor = try Decompressor()
        }
    }

    /// How many records a reading brought, and what was new.
    package struct Kept: Hashable, Sendable {
        package var records: Int64 = 0
        package var new: Int64 = 0
        package var segments: Int64 = 0
        /// A sentence for each month that has a damaged segment. The segment stays as it is; its
        /// records count as new.
        package var damaged: [String] = []
        /// Whether records of a month that counted as known are not: its file has changed
        /// meanwhile.
        package var hasMissed = false
        /// The records of months that `prune` has removed, which stay away.
        package var pruned: Int64 = 0

        package init() {}
    }

    /// Stores the records that are not stored yet. A record that a source has twice is stored
    /// twice; one that two sources have is stored once.
    ///
    /// It writes in several transactions. What a kill leaves out, the next reading of the source
    /// brings.
    ///
    /// - Parameters:
    ///   - source: a name of a source that has everything each time, of which only a keyed hash is
    ///     stored; `nil` for one that has other records each time.
    ///   - reader: what read the source, if its samples are in the outbox.
    ///   - zone: the time zone whose days are added up; `nil` if the source does not know it, and
    ///     who asks for its days adds them up.
    package func keep(
        _ collected: ArchiveCollector, of source: String?, by reader: ArchiveMarks.Reader? = nil,
        zone: Zone?
    ) throws(HealthStoreError) -> Kept {
        var kept = Kept()
        kept.records = collected.count
        let key = store.cipher.fingerprintKey
        let former = try source.map { source throws(HealthStoreError) in try self.marks(of: source)
        }
        var marks = former
        marks?.reader = reader
        marks?.prints = [:]
        let tools = try HealthStore.describing(store.path) { try Tools() }
        var rest = collected.keys()[...]
        while !rest.isEmpty {
            try store.change { connection in
                let portion = rest.prefix(Archive.portion)
                let pruned = try prunedMonths(connection)
                let stored = try storedMonths(like: portion.map(\.key), connection)
                for (month, bucket) in portion {
                    var found: Segment?
                    var print = collected.print(bucket, key)
                    if former != nil, print == nil {
                        let segment = try collected.segment(bucket, tools.decompressor)
                        print = RecordTags(key, segment.texts).fingerprint(of: segment.records)
                        found = segment
                    }
                    if pruned[month]?.isBack == false {
                        kept.pruned +=
                            try print.map { Int64($0.count) }
                            ?? Int64(collected.segment(bucket, tools.decompressor).records.count)
                    } else if former == nil || former?.prints[month] != print {
                        guard !collected.isKnown(bucket) else {
                            kept.hasMissed = true
                            continue
                        }
                        let added = try add(
                            found ?? collected.segment(bucket, tools.decompressor), to: month,
                            after: pruned[month]?.generation ?? 0,
                            hasSegments: stored.contains(month), key, zone, tools, connection)
                        kept.new += Int64(added.new)
                        kept.segments += added.new > 0 ? 1 : 0
                        if added.isDamaged { kept.damaged.append(month.damage) }
                    }
                    marks?.prints[month] = print
                }
                // Written last, so that a mark never says more than the segments have.
                if let marks, rest.count <= Archive.portion { try write(marks, connection) }
            }
            rest = rest.dropFirst(Archive.portion)
        }
        return kept
    }

    /// Stores those of the found records that a month has fewer of.
    ///
    /// A few new records beside many become a segment of their own, so that a source that brings an
    /// hour at a time does not write its month anew each time. A damaged segment is left alone, and
    /// what it had is stored again if the source still has it.
    ///
    /// - Parameters:
    ///   - prunedGeneration: the last generation that a removed segment of the month had.
    ///   - hasSegments: whether the month has segments.
    /// - Returns: how many were stored, and whether a segment of the month is damaged.
    private func add(
        _ found: Segment, to month: TypeMonth, after prunedGeneration: Int64, hasSegments: Bool,
        _ key: [UInt8], _ zone: Zone?, _ tools: Tools, _ connection: Connection
    ) throws -> (new: Int, isDamaged: Bool) {
        // Asks only where there are some: on a server, the question takes longer than the rest.
        let stored = hasSegments ? try encrypted(month, connection) : []
        var known: [UInt128: Int] = [:]
        var all = Segment()
        var sound = 0
        for encrypted in stored {
            let part: Segment
            do {
                part = try opened(encrypted, month).segment(tools.decompressor)
            } catch is EncryptionError {
                continue
            }
            let blindIndexes = RecordTags(key, part.texts)
            for record in part.records {
                known[blindIndexes.blindIndex(of: record), default: 0] += 1
            }
            all.add(part)
            sound += 1
        }
        let isDamaged = sound < stored.count
        var new = found
        if !known.isEmpty {
            let blindIndexes = RecordTags(key, found.texts)
            new.records.removeAll { record in
                let blindIndex = blindIndexes.blindIndex(of: record)
                guard let count = known[blindIndex], count > 0 else { return false }
                known[blindIndex] = count - 1
                return true
            }
        }
        guard !new.records.isEmpty else { return (0, isDamaged) }
        new.sort()
        let isDue =
            stored.count >= Archive.mostParts
            || new.records.count * Archive.smallShare >= all.records.count
        let isWhole =
            isDue && !isDamaged && all.texts.size + new.texts.size <= Archive.mostText
        all.add(new)
        all.sort()
        if isWhole {
            for part in stored {
                try connection.run("DELETE FROM segments WHERE id = ?", .integer(part.id))
            }
        }
        var generation = stored.last?.generation ?? prunedGeneration
        for part in (isWhole ? all : new).parts(ofText: Archive.mostText) {
            generation += 1
            try write(part, month, generation: generation, tools.compressor, connection)
        }
        // Sums without the records of a damaged segment would pass for those of all.
        if let zone, !isDamaged {
            try writeSums(
                of: all, month, generation: generation, zone, tools.compressor, connection)
        }
        return (new.records.count, isDamaged)
    }

    // MARK: Segments

    /// A segment as it is stored.
    struct EncryptedSegment {
        var id: Int64
        var generation: Int64
        var encrypted: [UInt8]
    }

    /// A segment that was decrypted.
    struct OpenSegment {
        fileprivate let plain: [UInt8]
        fileprivate let type: String

        func segment(_ decompressor: Decompressor) throws -> Segment {
            try read { bytes throws(ArchiveError) in try Segment(bytes, decompressor) }
        }

        /// Returns the texts of the origins of its records.
        func origins(_ decompressor: Decompressor) throws -> [[UInt8]] {
            try read { bytes throws(ArchiveError) in try Segment.origins(in: bytes, decompressor) }
        }

        private func read<Made>(_ make: ([UInt8]) throws(ArchiveError) -> Made) throws -> Made {
            do throws(ArchiveError) {
                return try make(plain)
            } catch .malformed {
                throw EncryptionError(table: "segments", row: type)
            }
        }
    }

    private func identity(_ key: TypeMonth, _ generation: Int64) -> RowIdentity {
        RowIdentity("segments", label: key.type, key.type, Int64(key.month), generation)
    }

    /// Returns the segments of a month, oldest first.
    func encrypted(_ month: TypeMonth, _ connection: Connection) throws -> [EncryptedSegment] {
        try connection.all(
            """
            SELECT id, generation, sealed FROM segments WHERE type = ? AND month = ?
            ORDER BY generation
            """, .text(month.type), .integer(Int64(month.month))
        ) { EncryptedSegment(id: $0.integer(0), generation: $0.integer(1), encrypted: $0.blob(2)) }
    }

    /// Returns the months of the types of these that have segments.
    private func storedMonths(
        like months: [TypeMonth], _ connection: Connection
    ) throws -> Set<TypeMonth> {
        // The database compares texts byte by byte.
        func precedes(_ one: String, _ other: String) -> Bool {
            one.utf8.lexicographicallyPrecedes(other.utf8)
        }
        let types = months.map(\.type)
        guard let first = types.min(by: precedes), let last = types.max(by: precedes) else {
            return []
        }
        return Set(
            try connection.all(
                "SELECT DISTINCT type, month FROM segments WHERE type BETWEEN ? AND ?",
                .text(first), .text(last)
            ) { TypeMonth(type: $0.text(0), month: Int($0.integer(1))) })
    }

    /// Opens a segment.
    ///
    /// - Throws: `EncryptionError` if it is damaged.
    func opened(_ part: EncryptedSegment, _ month: TypeMonth) throws -> OpenSegment {
        OpenSegment(
            plain: try store.cipher.open(part.encrypted, for: identity(month, part.generation)),
            type: month.type)
    }

    private func write(
        _ segment: Segment, _ month: TypeMonth, generation: Int64, _ compressor: Compressor,
        _ connection: Connection
    ) throws {
        let encrypted = store.cipher.encrypt(
            segment.encoded(compressor), for: identity(month, generation))
        try connection.run(
            "INSERT INTO segments (type, month, generation, sealed) VALUES (?, ?, ?, ?)",
            .text(month.type), .integer(Int64(month.month)), .integer(generation), .blob(encrypted))
    }

    // MARK: Marks

    /// Returns what the last whole reading of a source brought; nothing if there was none.
    package func marks(of source: String) throws(HealthStoreError) -> ArchiveMarks {
        let cipher = store.cipher
        let blindIndex = cipher.blindIndex(of: source, in: "segment_marks")
        return try store.access { connection in
            let encrypted = try connection.first(
                "SELECT sealed FROM segment_marks WHERE tag = ?", .blob(blindIndex)
            ) { $0.blob(0) }
            var marks = ArchiveMarks(blindIndex: blindIndex, key: cipher.fingerprintKey)
            // Damaged marks only mean that every month is compared once more.
            if let encrypted, let plain = cipher.opened(encrypted, for: identity(marks)) {
                marks.read(plain)
            }
            return marks
        }
    }

    private func write(_ marks: ArchiveMarks, _ connection: Connection) throws {
        try connection.run(
            """
            INSERT INTO segment_marks (tag, sealed) VALUES (?1, ?2)
            ON CONFLICT (tag) DO UPDATE SET sealed = ?2
            """, .blob(marks.blindIndex),
            .blob(store.cipher.encrypt(marks.bytes, for: identity(marks))))
    }

    /// Forgets what the sources had, so that the records of one that has not changed do not count
    /// as known.
    func forgetReadings(_ connection: Connection) throws {
        try connection.run("DELETE FROM sources")
        try connection.run("DELETE FROM segment_marks")
    }

    private func identity(_ marks: ArchiveMarks) -> RowIdentity {
        RowIdentity("segment_marks", marks.blindIndex)
    }
}

/// What the last whole reading of a source brought, by type and month.
package struct ArchiveMarks: Hashable, Sendable {
    /// What decides which samples are made of the records.
    package struct Reader: Hashable, Sendable {
        /// Its name with its version and rules.
        package var name: String
        /// When the same records bring more samples, because one was dated in the future.
        package var dueAt: Instant?

        package init(name: String, dueAt: Instant?) {
            self.name = name
            self.dueAt = dueAt
        }
    }

    let blindIndex: [UInt8]
    /// The key of the fingerprints.
    package let key: [UInt8]
    /// What read it; `nil` if its samples may be missing in the outbox.
    package var reader: Reader?
    package var prints: [TypeMonth: Fingerprint] = [:]

    fileprivate init(blindIndex: [UInt8], key: [UInt8]) {
        self.blindIndex = blindIndex
        self.key = key
    }

    /// Whether a reading now would make the samples that the outbox has of the same records.
    package func isCurrent(_ name: String, at now: Instant) -> Bool {
        guard let reader, reader.name == name else { return false }
        return reader.dueAt.map { $0 > now } ?? true
    }

    /// Returns the months before the last one of each type, to which an export that goes on adds. A
    /// month in the future is not the last one.
    package func formerMonths(at now: Instant) -> Set<TypeMonth> {
        let present = TypeMonth.month(of: now.secondsSince1970)
        var last: [String: Int] = [:]
        for key in prints.keys where key.month <= present {
            last[key.type] = max(last[key.type] ?? key.month, key.month)
        }
        return Set(prints.keys.filter { $0.month < last[$0.type] ?? .min })
    }

    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: reader?.name ?? "")
        bytes.append(littleEndian: reader?.dueAt?.millisecondsSince1970 ?? .max)
        for (key, print) in prints.sorted(by: { $0.key < $1.key }) {
            bytes.append(field: key.type)
            bytes.append(littleEndian: Int32(key.month))
            bytes.append(littleEndian: print.count)
            bytes.append(littleEndian: print.sum)
        }
        return bytes
    }

    fileprivate mutating func read(_ bytes: [UInt8]) {
        var form = ByteReader(bytes)
        guard let name = form.field(), let due = form.number(Int64.self) else { return }
        if !name.isEmpty {
            reader = Reader(
                name: name, dueAt: due == .max ? nil : Instant(millisecondsSince1970: due))
        }
        while let type = form.field(), let month = form.number(Int32.self),
            let count = form.number(UInt64.self), let sum = form.number(UInt128.self)
        {
            prints[TypeMonth(type: type, month: Int(month))] = Fingerprint(count: count, sum: sum)
        }
    }
}

extension HealthStore {
    /// The person's own copy of every record.
    public var archive: Archive { Archive(store: self) }
}

extension Cipher {
    /// The key of fingerprints, which are encrypted. It does not change with the master key: after
    /// a rotation every month would differ.
    var fingerprintKey: [UInt8] {
        Cipher.hash(Array("segment fingerprints".utf8), under: indexKeys[0], count: 16)
    }
}
