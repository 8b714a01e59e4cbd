public import HealthModel
public import ClarityScheduler
import Database

/// The state of an analysis; `HealthSchema.analysisTables` lists the transitions.
public enum AnalysisState: String, CaseIterable, Sendable {
    /// Recorded, and certainly not at the backend.
    case queued
    /// Sent, and no answer is known.
    case sending
    /// Accepted by the backend, which is processing it.
    case accepted
    case completed
    case failed
    /// The backend never reported the outcome.
    case unconfirmed
}

/// The status requests to the backend about one piece of work.
public struct Questions: Hashable, Sendable {
    public var count = 0
    public var lastAt: Instant?
    /// The last answer, in this program's own words.
    public var lastWord: String?

    /// A summary for people: `asked 12 times, last word: processing`.
    public var text: String {
        guard count > 0 else { return "never asked" }
        return "asked \(counted(count, "times")), last word: \(lastWord ?? "none")"
    }
}

/// A week of steps to analyse, without its steps and its result.
public struct StoredAnalysis: Hashable, Sendable {
    public let id: Int64
    public let form: AnalysisForm
    /// The last of its seven days.
    public let lastDay: CivilDay
    /// The minutes known when it was last queued, 1 to 10,080.
    public let knownMinutes: Int
    public let state: AnalysisState
    /// The number of sends that may have arrived.
    public let sends: Int
    /// The backend's id of the analysis, once accepted.
    public let processingID: String?
    public let acceptedAt: Instant?
    public let questions: Questions
}

extension StoredAnalysis {
    /// The number of unanswered sends after which a week is not sent again.
    public static let mostSends = 5

    enum Column: String, RowColumn {
        case id, form, last_day, known_minutes, state, sends, processing_id, accepted_at_ms
        case asked_count, last_asked_at_ms, last_word
    }

    /// Parses a row of `Column`; returns `nil` for values that this version does not know.
    init?(_ row: borrowing Row) {
        guard let form = AnalysisForm(rawValue: row.text(Column.form)),
            let state = AnalysisState(rawValue: row.text(Column.state))
        else { return nil }
        self.init(
            id: row.integer(Column.id), form: form,
            lastDay: CivilDay(daysSince1970: Int(row.integer(Column.last_day))),
            knownMinutes: Int(row.integer(Column.known_minutes)), state: state,
            sends: Int(row.integer(Column.sends)),
            processingID: row.optionalText(Column.processing_id),
            acceptedAt: row.optionalInstant(Column.accepted_at_ms),
            questions: Questions(row, at: Column.asked_count.position))
    }
}

/// The decision whether a week is analysed now.
public enum WeekVerdict: Hashable, Sendable {
    case analyse
    /// Fewer minutes are known than are needed.
    case tooFew(known: Int, needed: Int)
    /// The backend has not reported the outcome yet.
    case underWay
    /// It was already analysed with at least as many minutes as are known now.
    case analysed
    /// It could not be analysed, and no more minutes are known now.
    case failedBefore

    /// Decides from the known minutes of a week and the newest analysis of the same week.
    ///
    /// A week is analysed once. It is analysed again if more of its minutes are known later and the
    /// earlier analysis has ended.
    public init(known: Int, needed: Int, former: (state: AnalysisState, known: Int)?) {
        guard known >= needed, known > 0 else {
            self = .tooFew(known: known, needed: needed)
            return
        }
        self =
            switch former?.state {
            case nil, .queued, .sending: .analyse
            case .accepted: .underWay
            case .completed: known > former?.known ?? 0 ? .analyse : .analysed
            case .failed, .unconfirmed: known > former?.known ?? 0 ? .analyse : .failedBefore
            }
    }

    /// Why the week is not analysed, for a person; `nil` if it is.
    public var reason: String? {
        switch self {
        case .analyse: nil
        case .tooFew(let known, let needed):
            "\(known) of its minutes are known, \(needed) are needed"
        case .underWay: "the backend is still at it"
        case .analysed: "it was analysed already, and no more of it is known now"
        case .failedBefore:
            "it could not be analysed before, and no more of it is known now"
        }
    }
}

/// The result of an analysis.
public struct AnalysisResult: Hashable, Sendable, PrivateValue {
    /// The maximum number of named numbers that are stored.
    public static let mostNumbers = 64
    /// The longest embedding that is stored.
    public static let longestEmbedding = 4096
    /// The largest JSON that is stored, in bytes.
    public static let largestJSON = 1 << 20

    /// The numbers by name, all finite.
    public var numbers: [String: Double]
    /// The movement's embedding in the model's space; may be empty.
    public var embedding: [Double]
    /// The whole answer as received.
    public var json: [UInt8]

    /// Creates a result.
    public init(numbers: [String: Double], embedding: [Double] = [], json: [UInt8]) {
        self.numbers = numbers
        self.embedding = embedding
        self.json = json
    }

    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(encrypted: numbers)
        bytes.append(littleEndian: UInt32(embedding.count))
        for number in embedding { bytes.append(littleEndian: number.bitPattern) }
        return bytes + json
    }

    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard let numbers = reader.numbers(), let count = reader.number(UInt32.self) else {
            return nil
        }
        var embedding: [Double] = []
        for _ in 0..<count {
            guard let bits = reader.number(UInt64.self) else { return nil }
            embedding.append(Double(bitPattern: bits))
        }
        self.init(numbers: numbers, embedding: embedding, json: reader.rest)
    }
}

extension [UInt8] {
    /// Appends the numbers with their names, sorted by name.
    mutating func append(encrypted numbers: [String: Double]) {
        append(littleEndian: UInt16(clamping: numbers.count))
        for (name, number) in numbers.sorted(by: { $0.key < $1.key }).prefix(Int(UInt16.max)) {
            append(field: name)
            append(littleEndian: number.bitPattern)
        }
    }
}

extension ByteReader {
    mutating func numbers() -> [String: Double]? {
        guard let count = number(UInt16.self) else { return nil }
        var numbers: [String: Double] = [:]
        for _ in 0..<count {
            guard let name = field(), let bits = number(UInt64.self) else { return nil }
            numbers[name] = Double(bitPattern: bits)
        }
        return numbers
    }
}

/// Work in progress at the backend, whose status can be requested.
public enum OpenWork: Hashable, Sendable {
    case upload(OpenUpload)
    case analysis(StoredAnalysis)
    case insight(StoredInsightRequest)

    var row: (table: String, id: Int64) {
        switch self {
        case .upload(let upload): ("batches", upload.id)
        case .analysis(let analysis): ("analyses", analysis.id)
        case .insight(let request): ("insight_requests", request.id)
        }
    }
}

extension HealthStore {
    /// Records a status request and the backend's answer, in this program's own words.
    ///
    /// - Returns: all status requests about this work so far.
    @discardableResult
    public func noteAsked(
        about work: OpenWork, _ word: String, at now: Instant
    ) throws(HealthStoreError) -> Questions {
        let (table, id) = work.row
        return try change { connection in
            try connection.run(
                """
                UPDATE \(table) SET asked_count = asked_count + 1, last_asked_at_ms = ?,
                    last_word = ? WHERE id = ?
                """, .instant(now), .text(word), .integer(id))
            return try questions(about: work, connection)
        }
    }

    /// Returns the status requests about this work so far.
    public func questions(about work: OpenWork) throws(HealthStoreError) -> Questions {
        try access { connection in try questions(about: work, connection) }
    }

    private func questions(about work: OpenWork, _ connection: Connection) throws -> Questions {
        let (table, id) = work.row
        return try connection.first(
            "SELECT asked_count, last_asked_at_ms, last_word FROM \(table) WHERE id = ?",
            .integer(id)
        ) { Questions($0, at: 0) } ?? Questions()
    }
}

extension Questions {
    /// Parses the three columns that begin at `column`.
    init(_ row: borrowing Row, at column: Int32) {
        self.init(
            count: Int(row.integer(column)),
            lastAt: row.optionalInteger(column + 1).map { Instant(millisecondsSince1970: $0) },
            lastWord: row.optionalText(column + 2))
    }
}

// The steps of the last weeks by minute, for movement analyses.

extension Analyses {
    /// The number of days that are stored, counted from the newest.
    static var stepDays: Int64 { 35 }

    /// Stores days, each encrypted for its date, and removes all but the newest 35.
    ///
    /// A stored day is replaced, unless the new one knows fewer minutes because its source was made
    /// earlier that day.
    public func keep(_ days: [StepDay]) throws(HealthStoreError) {
        guard !days.isEmpty else { return }
        try store.change { connection in
            for day in days {
                try connection.run(
                    """
                    INSERT INTO minutes (day, known_minutes, sealed) VALUES (?, ?, ?)
                    ON CONFLICT (day) DO UPDATE SET known_minutes = excluded.known_minutes,
                        sealed = excluded.sealed
                    WHERE excluded.known_minutes >= minutes.known_minutes
                    """, .integer(Int64(day.day.daysSince1970)), .integer(Int64(day.knownMinutes)),
                    .blob(cipher.encrypt(day.encryptedForm, for: Analyses.identity(of: day.day))))
            }
            try connection.run(
                """
                DELETE FROM minutes
                WHERE day NOT IN (SELECT day FROM minutes ORDER BY day DESC LIMIT ?)
                """, .integer(Analyses.stepDays))
        }
    }

    /// Returns the stored days in order.
    public func stepDays() throws(HealthStoreError) -> [CivilDay] {
        try store.all("SELECT day FROM minutes ORDER BY day") {
            CivilDay(daysSince1970: Int($0.integer(0)))
        }
    }

    /// Returns the newest day that is known to its end, or `nil`.
    public func newestWholeStepDay() throws(HealthStoreError) -> CivilDay? {
        try store.first(
            "SELECT max(day) FROM minutes WHERE known_minutes = ?",
            .integer(Int64(StepDay.minutes))
        ) { $0.optionalInteger(0).map { CivilDay(daysSince1970: Int($0)) } }
    }

    /// Returns the stored days of the seven that end with `last`, in order.
    ///
    /// - Throws: `encryption` if a day does not decrypt.
    public func stepDays(endingOn last: CivilDay) throws(HealthStoreError) -> [StepDay] {
        try store.access { connection in
            let rows = try connection.all(
                "SELECT day, sealed FROM minutes WHERE day BETWEEN ? AND ? ORDER BY day",
                .integer(Int64(last.daysSince1970) - 6), .integer(Int64(last.daysSince1970))
            ) { (day: CivilDay(daysSince1970: Int($0.integer(0))), encrypted: $0.blob(1)) }
            return try rows.map { day, encrypted in
                try cipher.open(encrypted, for: Analyses.identity(of: day)) {
                    StepDay(day, encryptedForm: $0)
                }
            }
        }
    }

    private static func identity(of day: CivilDay) -> RowIdentity {
        RowIdentity("minutes", number: Int64(day.daysSince1970))
    }
}

extension StepDay {
    /// The zone, the known minutes, and the counts; the date is a column of the row.
    fileprivate var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: zone)
        bytes.append(littleEndian: UInt16(clamping: knownMinutes))
        for count in counts { bytes.append(littleEndian: count) }
        return bytes
    }

    fileprivate init?(_ day: CivilDay, encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard let zone = reader.field(), let known = reader.number(UInt16.self) else { return nil }
        var counts: [UInt32] = []
        for _ in 0..<StepDay.minutes {
            guard let count = reader.number(UInt32.self) else { return nil }
            counts.append(count)
        }
        guard reader.isAtEnd else { return nil }
        self.init(day: day, zone: zone, counts: counts, knownMinutes: Int(known))
    }
}
