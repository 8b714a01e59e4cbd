public import HealthModel
public import ClarityScheduler
import Database

/// Everything that is known about one sample of the outbox.
public struct OutboxSample: Sendable {
    /// A batch as it was sent.
    public struct Batch: Hashable, Sendable {
        public let id: Int64
        /// `sending`, `accepted`, `confirmed`, `stored`, `unconfirmed` or `failed`.
        public let state: String
        public let route: String
        public let madeAt: Instant
        /// The number of times that it was taken up for sending.
        public let attempts: Int64
        /// The backend's id of the upload.
        public let processingID: String?
        public let acceptedAt: Instant?
        public let finishedAt: Instant?
        public let reason: String?
    }

    public let entry: OutboxEntry
    /// The batch that the sample is in. Batches of earlier sends are not recorded.
    public let batch: Batch?
    /// What the backend said when it refused the sample, without numbers and quotations; `nil` if
    /// it said nothing or the stored words are damaged.
    public let serverWords: String?
    /// The sample with its value; `nil` unless the value was asked for, and if it was removed or is
    /// damaged.
    public let sample: Sample?
}

extension OutboxSample.Batch {
    enum Column: String, RowColumn {
        case id, state, route, client_timestamp_ms, attempts, processing_id, accepted_at_ms
        case finished_at_ms, reason
    }

    init(_ row: borrowing Row) {
        self.init(
            id: row.integer(Column.id), state: row.text(Column.state),
            route: row.text(Column.route), madeAt: row.instant(Column.client_timestamp_ms),
            attempts: row.integer(Column.attempts),
            processingID: row.optionalText(Column.processing_id),
            acceptedAt: row.optionalInstant(Column.accepted_at_ms),
            finishedAt: row.optionalInstant(Column.finished_at_ms),
            reason: row.optionalText(Column.reason))
    }
}

extension Outbox {
    /// Returns one sample of the outbox; `nil` if there is none with this id.
    ///
    /// - Parameter withValue: whether to decrypt the value too, which the audit log then records.
    public func sample(
        _ id: Int64, withValue: Bool = false
    ) throws(HealthStoreError) -> OutboxSample? {
        let read = { (connection: Connection) in
            try self.sample(id, withValue, connection)
        }
        return withValue ? try store.change(read) : try store.snapshot(read)
    }

    private func sample(
        _ id: Int64, _ withValue: Bool, _ connection: Connection
    ) throws -> OutboxSample? {
        let entry = try connection.first(
            "SELECT \(OutboxEntry.Column.list) FROM samples WHERE id = ?", .integer(id),
            map: OutboxEntry.init)
        guard let entry else { return nil }
        var sample: Sample?
        if withValue {
            sample =
                try connection.first(
                    "SELECT \(SampleRow.Column.list) FROM outbox WHERE id = ?", .integer(id),
                    map: SampleRow.init)?.opened(cipher)
            try store.audit.record(.read, [entry.kind: 1], detail: "shown to a person", connection)
        }
        return OutboxSample(
            entry: entry, batch: try entry.batch.flatMap { try batch($0, connection) },
            serverWords: try words(of: id, connection), sample: sample)
    }

    private func batch(_ id: Int64, _ connection: Connection) throws -> OutboxSample.Batch? {
        try connection.first(
            "SELECT \(OutboxSample.Batch.Column.list) FROM batches WHERE id = ?", .integer(id),
            map: OutboxSample.Batch.init)
    }

    private func words(of id: Int64, _ connection: Connection) throws -> String? {
        try connection.blob("SELECT sealed FROM server_words WHERE id = ?", .integer(id))
            .flatMap { cipher.opened($0, for: .words(id)) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Stores what the backend said about a sample. The words are encrypted, since nobody knows
    /// what they contain.
    func storeWords(_ words: String, of id: Int64, _ connection: Connection) throws {
        try connection.run(
            """
            INSERT INTO server_words (id, sealed) VALUES (?, ?)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed
            """, .integer(id), .blob(cipher.encrypt(Array(words.utf8), for: .words(id))))
    }
}

extension RowIdentity {
    fileprivate static func words(_ id: Int64) -> RowIdentity {
        RowIdentity("server_words", number: id)
    }
}

// The encrypted part of a sample, as bytes.

extension Sample {
    /// The value, the source, and a byte more if it is of all sources. Kind and times are columns
    /// of the row.
    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        switch value {
        case .single(let number):
            bytes.append(1)
            bytes.append(littleEndian: number.bitPattern)
        case .pressure(let systolic, let diastolic):
            bytes.append(2)
            bytes.append(littleEndian: Int64(systolic))
            bytes.append(littleEndian: Int64(diastolic))
        case .sleep(let night):
            bytes.append(3)
            for number in night.encryptedNumbers { bytes.append(littleEndian: Int64(number)) }
            bytes.append(littleEndian: night.efficiency.bitPattern)
        case .activity(let day):
            bytes.append(4)
            for kind in ActivityDay.kinds {
                bytes.append(day[kind] == nil ? 0 : 1)
                if let value = day[kind] { bytes.append(littleEndian: value.bitPattern) }
            }
        case .values(let values): values.append(to: &bytes)
        }
        if isOfAllSources {
            bytes.append(field: source ?? "")
            bytes.append(1)
        } else if let source {
            bytes.append(field: source)
        }
        return bytes
    }

    /// Creates the sample of a row; `nil` if the bytes are not in the format of `encryptedForm`.
    init?(kind: SampleKind, start: Instant, end: Instant, encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
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
        case 3:
            guard let night = SleepNight(encrypted: &reader) else { return nil }
            value = .sleep(night)
        case 4:
            guard let day = ActivityDay(encrypted: &reader) else { return nil }
            value = .activity(day)
        case 5:
            guard let values = MeasuredValues(encrypted: &reader) else { return nil }
            value = .values(values)
        default: return nil
        }
        let hasSource = !reader.isAtEnd
        let source = reader.field()
        guard source != nil || !hasSource else { return nil }
        let isOfAllSources = reader.number(UInt8.self) == 1
        self.init(
            kind: kind, start: start, end: end, value: value,
            source: isOfAllSources && source == "" ? nil : source)
        self.isOfAllSources = isOfAllSources
    }
}

extension SleepNight {
    /// All numbers but the efficiency; -1 stands for unknown minutes to sleep.
    fileprivate var encryptedNumbers: [Int] {
        [
            totalMinutes, wakeCount, awakeMinutes, lightMinutes, deepMinutes, remMinutes,
            minutesToSleep ?? -1,
        ]
    }

    fileprivate init?(encrypted reader: inout ByteReader) {
        var numbers: [Int] = []
        for _ in 0..<7 {
            guard let number = reader.number(Int64.self) else { return nil }
            numbers.append(Int(number))
        }
        guard let efficiency = reader.number(UInt64.self) else { return nil }
        self.init(
            totalMinutes: numbers[0], efficiency: Double(bitPattern: efficiency),
            wakeCount: numbers[1], awakeMinutes: numbers[2], lightMinutes: numbers[3],
            deepMinutes: numbers[4], remMinutes: numbers[5],
            minutesToSleep: numbers[6] < 0 ? nil : numbers[6])
    }
}

extension MeasuredValues {
    /// Appends the numbers by code, and the text.
    fileprivate func append(to bytes: inout [UInt8]) {
        bytes.append(5)
        bytes.append(UInt8(numbers.count))
        for (measure, number) in numbers.sorted(by: { $0.key.code < $1.key.code }) {
            bytes.append(measure.code)
            bytes.append(littleEndian: number.bitPattern)
        }
        bytes.append(text == nil ? 0 : 1)
        if let text { bytes.append(field: text) }
    }

    fileprivate init?(encrypted reader: inout ByteReader) {
        self.init()
        guard let count = reader.number(UInt8.self) else { return nil }
        for _ in 0..<count {
            guard let measure = reader.number(UInt8.self).flatMap({ Measure(code: $0) }),
                let bits = reader.number(UInt64.self)
            else { return nil }
            numbers[measure] = Double(bitPattern: bits)
        }
        switch reader.number(UInt8.self) {
        case 0: break
        case 1:
            guard let text = reader.field() else { return nil }
            self.text = text
        default: return nil
        }
    }
}

extension ActivityDay {
    fileprivate init?(encrypted reader: inout ByteReader) {
        self.init()
        for kind in ActivityDay.kinds {
            switch reader.number(UInt8.self) {
            case 0: break
            case 1:
                guard let bits = reader.number(UInt64.self) else { return nil }
                self[kind] = Double(bitPattern: bits)
            default: return nil
            }
        }
    }
}
