import HealthModel
import ClarityScheduler
import Database

/// The measurements that need nothing for now, as segments by kind and month: those that the backend
/// has, and those that are kept because there is no backend.
///
/// A sample takes less than 10 bytes here, and about 280 in a row of the outbox. It is still
/// recognised when a source brings it again, and is among the metrics that a person reads.
struct PackedSamples {
    let cipher: Cipher
    let connection: Connection

    /// Returns the months of a kind that have samples, ascending.
    func months(of kind: SampleKind) throws -> [Int] {
        try connection.all(
            "SELECT DISTINCT month FROM packed_samples WHERE kind = ? ORDER BY month",
            .text(kind.rawValue)
        ) { Int($0.integer(0)) }
    }

    /// Returns the months of a kind that have values, all packed before an instant, and when the
    /// last of them was, ascending.
    func months(
        of kind: SampleKind, packedBefore cutoff: Instant
    ) throws -> [(month: Int, packedAt: Instant)] {
        try connection.all(
            """
            SELECT month, max(packed_at_ms) AS last FROM packed_samples WHERE kind = ?
            GROUP BY month HAVING max(packed_at_ms) < ? ORDER BY month
            """, .text(kind.rawValue), .instant(cutoff)
        ) { (Int($0.integer(0)), $0.instant(1)) }
    }

    /// Returns the samples of a kind and month, in the order of their starts, and whether some are
    /// damaged and left out.
    func samples(
        of kind: SampleKind, in month: Int
    ) throws -> (sound: [PackedSample], isDamaged: Bool) {
        let parts = try parts(of: kind, in: month)
        var sound = parts.flatMap { $0.samples ?? [] }
        if parts.count > 1 { sound.sort { $0.start < $1.start } }
        return (sound, parts.contains { $0.samples == nil })
    }

    /// Calls `body` with each sample of a kind that starts in `starts` and has its value.
    ///
    /// - Returns: an error for each month with damaged samples.
    func forEach(
        _ kind: SampleKind, _ starts: Range<Int64>, _ body: (Sample) throws -> Void
    ) throws -> [EncryptionError] {
        var damaged: [EncryptionError] = []
        for month in try months(of: kind)
        where TypeMonth(type: kind.rawValue, month: month).overlaps(starts) {
            let found = try samples(of: kind, in: month)
            if found.isDamaged {
                damaged.append(EncryptionError(table: "packed_samples", row: kind.rawValue))
            }
            for sample in found.sound where starts.contains(sample.start) {
                if let sample = sample.sample(kind) { try body(sample) }
            }
        }
        return damaged
    }

    /// Adds samples that are not packed yet. A damaged segment of the month stays as it is.
    func add(
        _ samples: [PackedSample], of kind: SampleKind, to month: Int, at now: Instant
    ) throws {
        let parts = try parts(of: kind, in: month)
        let isSound = !parts.contains { $0.samples == nil }
        let all = isSound ? parts.flatMap { $0.samples ?? [] } + samples : samples
        try write(all, of: kind, to: month, after: parts, replacing: isSound, at: now)
    }

    /// Removes the values of a month, so that its samples are still recognised. Those of kept samples
    /// stay, and so does a damaged segment.
    ///
    /// - Returns: how many values there were.
    func removeValues(of kind: SampleKind, in month: Int) throws -> Int64 {
        let parts = try parts(of: kind, in: month)
        guard !parts.contains(where: { $0.samples == nil }) else { return 0 }
        let all = parts.flatMap { $0.samples ?? [] }
        let bare = all.map { packed in
            var bare = packed
            if !packed.isKept, let sample = packed.sample(kind) {
                bare.content = .blindIndex(cipher.firstIndex(sample.identity))
            }
            return bare
        }
        let count = zip(all, bare).count { $0 != $1 }
        try write(bare, of: kind, to: month, after: parts, replacing: true, at: nil)
        return Int64(count)
    }

    /// Takes samples that have their values out of a month. Those of a damaged month stay.
    func take(
        of kind: SampleKind, in month: Int, at now: Instant, where isMeant: (PackedSample) -> Bool
    ) throws -> [Sample] {
        let parts = try parts(of: kind, in: month)
        guard !parts.contains(where: { $0.samples == nil }) else { return [] }
        let all = parts.flatMap { $0.samples ?? [] }
        let taken = all.filter(isMeant)
        guard !taken.isEmpty else { return [] }
        // An empty month keeps its generation.
        try write(
            all.filter { !isMeant($0) }, of: kind, to: month, after: parts, replacing: true,
            at: now)
        return taken.compactMap { $0.sample(kind) }
    }

    private func write(
        _ samples: [PackedSample], of kind: SampleKind, to month: Int, after parts: [Part],
        replacing: Bool, at now: Instant?
    ) throws {
        if replacing {
            try connection.run(
                "DELETE FROM packed_samples WHERE kind = ? AND month = ?", .text(kind.rawValue),
                .integer(Int64(month)))
        }
        // Never one that the month had, so that no older content passes for the present one.
        let generation = (parts.last?.generation ?? 0) + 1
        let bytes = try Segment(packing: samples).encoded(Compressor(level: 3))
        try connection.run(
            """
            INSERT INTO packed_samples (kind, month, generation, packed_at_ms, sealed)
            VALUES (?, ?, ?, ?, ?)
            """, .text(kind.rawValue), .integer(Int64(month)), .integer(generation),
            .instant(now),
            .blob(cipher.encrypt(bytes, for: identity(kind, month, generation))))
    }

    /// A segment of a month; its samples are `nil` if it is damaged.
    private struct Part {
        var generation: Int64
        var samples: [PackedSample]?
    }

    private func parts(of kind: SampleKind, in month: Int) throws -> [Part] {
        let decompressor = try Decompressor()
        return try connection.all(
            """
            SELECT generation, sealed FROM packed_samples WHERE kind = ? AND month = ?
            ORDER BY generation
            """, .text(kind.rawValue), .integer(Int64(month))
        ) { row in
            let generation = row.integer(0)
            let plain = cipher.opened(row.blob(1), for: identity(kind, month, generation))
            var samples: [PackedSample]?
            do throws(ArchiveError) {
                if let plain { samples = try Segment(plain, decompressor).unpacked() }
            } catch {
                // Counts as damaged.
            }
            return Part(generation: generation, samples: samples)
        }
    }

    private func identity(_ kind: SampleKind, _ month: Int, _ generation: Int64) -> RowIdentity {
        RowIdentity("packed_samples", label: kind.rawValue, kind.rawValue, Int64(month), generation)
    }
}

/// A packed measurement of some kind.
struct PackedSample: Hashable, Sendable, PrivateValue {
    enum Content: Hashable, Sendable, PrivateValue {
        case value(Double, source: String?)
        /// The value was removed; what is left is `Cipher.firstIndex` of the sample.
        case blindIndex(UInt64)
    }

    /// Instants in seconds since 1970.
    var start: Int64
    var end: Int64
    var content: Content
    /// Whether it waits for a backend: it was never sent, and has its value.
    var isKept = false

    /// The kinds whose samples are not one number, and stay rows, as a list in SQL.
    static let otherKinds = SampleKind.allCases.filter { kind in
        [.bloodPressure, .sleep, .activity].contains(kind) || !kind.measures.isEmpty
    }.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

extension PackedSample {
    /// Returns `nil` for a sample that is not one number.
    init?(_ sample: Sample, isKept: Bool = false) {
        guard case .single(let number) = sample.value else { return nil }
        self.init(
            start: sample.start.secondsSince1970, end: sample.end.secondsSince1970,
            content: .value(number, source: sample.source), isKept: isKept)
    }

    /// The whole sample; `nil` if its value was removed.
    func sample(_ kind: SampleKind) -> Sample? {
        guard case .value(let number, let source) = content else { return nil }
        return Sample(
            kind: kind, start: Instant(secondsSince1970: start),
            end: Instant(secondsSince1970: end), value: .single(number), source: source)
    }

    /// The blind index that the sample has in the outbox.
    func blindIndex(_ kind: SampleKind, _ cipher: Cipher) -> UInt64 {
        switch content {
        case .value: sample(kind).map { cipher.shortIndex($0.identity) } ?? 0
        case .blindIndex(let first): cipher.shortIndex(following: first)
        }
    }
}

/// How many samples of a kind are packed, and from when to when.
struct PackedTotals: Hashable {
    var confirmed: Int64 = 0
    var stored: Int64 = 0
    /// How many of them wait for a backend.
    var kept: Int64 = 0
    /// How many of them have no value any more.
    var withoutValue: Int64 = 0
    /// When the first and the last with a value begin, and when the last of all to end ends, in
    /// seconds since 1970.
    var firstStart: Int64 = .max
    var lastStart: Int64 = .min
    var lastEnd: Int64 = .min

    var count: Int64 { confirmed + stored + kept }

    /// When the last one that the backend has ends; that of a kept one if there are both.
    var lastDeliveredEnd: Int64? { confirmed + stored > 0 ? lastEnd : nil }

    mutating func add(_ sample: PackedSample, _ state: OutboxState) {
        if sample.isKept {
            kept += 1
        } else if state == .stored {
            stored += 1
        } else {
            confirmed += 1
        }
        firstStart = min(firstStart, sample.start)
        lastStart = max(lastStart, sample.start)
        lastEnd = max(lastEnd, sample.end)
    }
}

extension PackedSamples {
    /// Returns the totals of each kind that has any. Damaged ones are counted anew, and all samples
    /// that are not kept as confirmed; the proof names them.
    func totals() throws -> [SampleKind: PackedTotals] {
        let rows = try connection.all("SELECT kind, sealed FROM packed_totals") { row in
            (kind: SampleKind(rawValue: row.text(0)), encrypted: row.blob(1))
        }
        var all: [SampleKind: PackedTotals] = [:]
        for row in rows {
            guard let kind = row.kind else { continue }
            all[kind] = try opened(row.encrypted, kind) ?? counted(kind)
        }
        return all
    }

    func totals(of kind: SampleKind) throws -> PackedTotals? {
        try encryptedTotals(of: kind).map { try opened($0, kind) ?? counted(kind) }
    }

    /// Whether the totals of a kind are damaged.
    func areTotalsDamaged(of kind: SampleKind) throws -> Bool {
        try encryptedTotals(of: kind).map { opened($0, kind) == nil } ?? false
    }

    /// Writes damaged totals anew; returns of how many kinds.
    func repairTotals() throws -> Int64 {
        var count: Int64 = 0
        for kind in SampleKind.allCases where try areTotalsDamaged(of: kind) {
            try write(counted(kind), of: kind)
            count += 1
        }
        return count
    }

    private func encryptedTotals(of kind: SampleKind) throws -> [UInt8]? {
        try connection.blob("SELECT sealed FROM packed_totals WHERE kind = ?", .text(kind.rawValue))
    }

    /// Returns `nil` for damaged totals.
    private func opened(_ encrypted: [UInt8], _ kind: SampleKind) -> PackedTotals? {
        guard let plain = cipher.opened(encrypted, for: identity(kind)) else { return nil }
        var reader = ByteReader(plain)
        var numbers: [Int64] = []
        while let number = reader.number(Int64.self) { numbers.append(number) }
        // Nothing was kept by earlier releases.
        guard [6, 7].contains(numbers.count) else { return nil }
        return PackedTotals(
            confirmed: numbers[0], stored: numbers[1], kept: numbers.count > 6 ? numbers[6] : 0,
            withoutValue: numbers[2], firstStart: numbers[3], lastStart: numbers[4],
            lastEnd: numbers[5])
    }

    private func counted(_ kind: SampleKind) throws -> PackedTotals {
        var totals = PackedTotals()
        for month in try months(of: kind) {
            for sample in try samples(of: kind, in: month).sound {
                totals.add(sample, .confirmed)
                if sample.sample(kind) == nil { totals.withoutValue += 1 }
            }
        }
        (totals.firstStart, totals.lastStart) = try valued(kind)
        return totals
    }

    /// Returns when the first and the last sample of a kind that have values begin.
    func valued(_ kind: SampleKind) throws -> (first: Int64, last: Int64) {
        let months = try months(of: kind)
        func starts(in month: Int) throws -> [Int64] {
            try samples(of: kind, in: month).sound.filter { $0.sample(kind) != nil }.map(\.start)
        }
        var found: (first: Int64, last: Int64) = (.max, .min)
        for month in months where found.first == .max {
            found.first = try starts(in: month).first ?? .max
        }
        for month in months.reversed() where found.last == .min {
            found.last = try starts(in: month).last ?? .min
        }
        return found
    }

    func write(_ totals: PackedTotals, of kind: SampleKind) throws {
        var plain: [UInt8] = []
        for number in [
            totals.confirmed, totals.stored, totals.withoutValue, totals.firstStart,
            totals.lastStart, totals.lastEnd, totals.kept,
        ] {
            plain.append(littleEndian: number)
        }
        try connection.run(
            """
            INSERT INTO packed_totals (kind, sealed) VALUES (?1, ?2)
            ON CONFLICT (kind) DO UPDATE SET sealed = ?2
            """, .text(kind.rawValue), .blob(cipher.encrypt(plain, for: identity(kind))))
    }

    private func identity(_ kind: SampleKind) -> RowIdentity {
        RowIdentity("packed_totals", label: kind.rawValue, kind.rawValue)
    }
}

extension Segment {
    fileprivate init(packing samples: [PackedSample]) {
        self.init()
        for sample in samples {
            var source: String?
            let value: ArchivedRecord.Value
            switch sample.content {
            case .value(let number, let name):
                source = name
                value = self.value(of: number)
            case .blindIndex(let first):
                value = .text(texts.index(of: Segment.tagMark + Segment.bytes(of: first)))
            }
            records.append(
                ArchivedRecord(
                    start: sample.start, end: sample.end,
                    created: sample.isKept ? sample.start : nil, offsets: ClockOffsets(),
                    origin: texts.index(of: RecordOrigin(source: source).bytes), value: value))
        }
        sort()
    }

    /// Stands before a blind index, so that it differs from the bits of a number.
    private static let tagMark: [UInt8] = [0]

    private static func bytes(of number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    /// Returns a number as a decimal one, or by its bits if it has none of 18 digits.
    private mutating func value(of number: Double) -> ArchivedRecord.Value {
        var text = number.description
        if text.hasSuffix(".0") { text.removeLast(2) }
        let found = text.withUTF8 { RecordNumber.parse($0) }
        if let (mantissa, decimals) = found, Double(mantissa, decimals: decimals) == number {
            return .number(mantissa: mantissa, decimals: decimals)
        }
        return .text(texts.index(of: Segment.bytes(of: number.bitPattern)))
    }

    /// - Throws: `malformed` for a record that `init(packing:)` does not make.
    fileprivate func unpacked() throws(ArchiveError) -> [PackedSample] {
        let sources = texts.texts.map { RecordOrigin($0).source }
        var samples: [PackedSample] = []
        samples.reserveCapacity(records.count)
        for record in records {
            let source = sources[Int(record.origin)]
            let content: PackedSample.Content
            switch record.value {
            case .number(let mantissa, let decimals):
                content = .value(Double(mantissa, decimals: decimals), source: source)
            case .text(let index):
                var reader = ByteReader(texts[index])
                let isBlindIndex = texts[index].count > 8
                if isBlindIndex { _ = reader.number(UInt8.self) }
                guard let bits = reader.number(UInt64.self), reader.isAtEnd else {
                    throw .malformed
                }
                content =
                    isBlindIndex
                    ? .blindIndex(bits) : .value(Double(bitPattern: bits), source: source)
            case .none: throw .malformed
            }
            samples.append(
                PackedSample(
                    start: record.start, end: record.end, content: content,
                    isKept: record.created != nil))
        }
        return samples
    }
}
