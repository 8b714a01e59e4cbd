import ClarityTestSupport
import Platform
@preconcurrency import Glibc
import Database
import Synchronization

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// A temporary state directory, which `deinit` removes with everything in it.
final class StateFolder: Sendable {
    let path: String
    /// The server that has the health data of a test on PostgreSQL, and the database there.
    private let server = HealthServer.current
    private let database = Mutex<ServerAddress?>(nil)

    init() {
        var template = Array("/tmp/clarity-cache-test.XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "cannot make a temporary folder: \(errno)")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        do {
            if let server, let database = database.withLock({ $0 }) { try server.remove(database) }
        } catch {
            // A store of the test is still open, and the database goes with the server.
        }
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func open(
        _ environment: [String: String] = [:], clock: any WallClock = SystemClock()
    ) throws -> HealthStore {
        guard environment[ServerAccount.variable] == nil, let place = try place() else {
            return try HealthStore(stateDirectory: path, environment: environment, clock: clock)
        }
        return try HealthStore(
            in: place, key: HealthStore.key(of: HealthFile(in: path), environment),
            actor: AuditActor(), clock: clock)
    }

    /// Connects to the health data beside a store.
    func connect() throws -> Connection {
        guard let place = try place() else {
            return try FileConnection(path: "\(path)/health.db", access: .readWrite)
        }
        return try place.open(keyID: "")
    }

    /// Returns when a sender whose store was closed is gone: a server ends a session a moment after
    /// its client.
    func waitForEnd(of sender: Int64) throws {
        guard let place = try place() else { return }
        let connection = try connect()
        while try place.isLocked(sender, connection) {}
    }

    /// Draws a batch as a process does that ends then, and waits for its end.
    func drawOnce(limit: Int, _ rules: [UploadEndpoint]) throws -> OutboxDraw {
        let draw = try open().outbox.nextBatches(limit: limit, rules: rules, at: noon)
        if let batch = draw.batch { try waitForEnd(of: batch.owner) }
        return draw
    }

    /// The place on the server, for `account`; `nil` in a test with files.
    func place(
        of account: String = "ada", wrapsKeys: Bool = false
    ) throws -> HealthServerPlace? {
        guard let server else { return nil }
        let address = try database.withLock { database in
            let known = try database ?? server.makeDatabase()
            database = known
            return known
        }
        return try HealthServerPlace(
            address: address, account: account, folder: path, key: nil, wrapsKeys: wrapsKeys)
    }

    /// Makes a file of 0.1.0 without rows, encrypted with the first test key, and returns a
    /// connection.
    func makeFirstRelease() throws -> Connection {
        let connection = try FileConnection(path: "\(path)/health.db")
        try FirstRelease.make("health.db", in: connection)
        try connection.execute(HealthSchema.firstRows)
        let cipher = try cipher(firstKey)
        try connection.run(
            "INSERT INTO canary (id, sealed) VALUES (1, ?)",
            .blob(cipher.encrypt(KeyCheck.text, for: KeyCheck.row)))
        // The head of an empty audit log, without counts of rows.
        let head = AuditHead()
        try connection.run(
            """
            INSERT INTO audit_head (id, anchor_number, anchor_hash, last_number, last_hash,
                uploaded_number, mac) VALUES (1, 0, ?, 0, ?, 0, ?)
            """, .blob(head.anchorHash), .blob(head.lastHash), .blob(head.mac(cipher)))
        return connection
    }

    /// The paths of the files in the folder and below, from the folder on, sorted.
    var names: [String] { StateFolder.names(in: path).sorted() }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            if entry.pointee.d_type == UInt8(DT_DIR) {
                names += StateFolder.names(in: "\(folder)/\(name)").map { "\(name)/\($0)" }
            } else {
                names.append(name)
            }
        }
        return names
    }

    /// The bytes of each file, by its name.
    var contents: [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: names.map { ($0, bytes(of: $0)) })
    }

    /// The digest of each file, by its name.
    var digests: [String: String] { contents.mapValues(contentDigest) }

    func bytes(of name: String) -> [UInt8] {
        let descriptor = Glibc.open("\(path)/\(name)", O_RDONLY)
        precondition(descriptor >= 0, "cannot open \(name): \(errno)")
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }

    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) {
        if let slash = name.lastIndex(of: "/") { mkdir("\(path)/\(name[..<slash])", 0o700) }
        let descriptor = Glibc.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, mode)
        precondition(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        fchmod(descriptor, mode)
        close(descriptor)
    }

    func mode(of name: String) -> mode_t {
        var status = stat()
        stat("\(path)/\(name)", &status)
        return status.st_mode & 0o777
    }
}

/// Makes invented heart rates, one a minute.
extension EnqueueCounts {
    init(queued: Int64, duplicates: Int64) {
        self.init()
        (self.queued, self.duplicates) = (queued, duplicates)
    }
}

func heartRates(_ range: Range<Int>, source: String? = nil) -> [Sample] {
    range.map { index in
        let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 60)
        return Sample(
            kind: .heartRate, start: start, end: start, value: .single(50 + Double(index % 40)),
            source: source)
    }
}

/// Makes a sample of a kind at a minute.
func sample(_ kind: SampleKind, _ minute: Int, _ value: Double = 1) -> Sample {
    let start = Instant(secondsSince1970: 1_700_000_000 + Int64(minute) * 60)
    return Sample(kind: kind, start: start, end: start, value: .single(value))
}

/// Makes an endpoint that accepts everything, at which each kind is a type of its own.
func testRules(
    _ route: UploadRoute = .metrics, samples: Int = 100, perType: Int? = nil,
    bytes: Int = 1 << 20, perHour: Int? = nil, isIdempotent: Bool = true, resends: Bool = true,
    without kinds: Set<SampleKind> = [], ranges: [SampleKind: ClosedRange<Double>] = [:],
    takesFuture: Bool = true
) -> UploadEndpoint {
    var fields: [SampleKind: UploadField] = [:]
    for kind in SampleKind.allCases where !kinds.contains(kind) {
        fields[kind] = UploadField(
            kind.rawValue, .biometric, in: ranges[kind].map { [$0] } ?? [])
    }
    var endpoint = UploadEndpoint(
        route: route, format: .metrics(fields), samplesPerRequest: samples, perType: perType,
        requestBytes: bytes, requestsPerHour: perHour, isIdempotent: isIdempotent,
        takesFuture: takesFuture)
    endpoint.resends = resends
    return endpoint
}

let noon = Instant(secondsSince1970: 1_760_000_000)

extension Outbox {
    /// Records a reading that found nothing.
    func noteRead(_ path: String, _ stamp: SourceStamp, at now: Instant) throws {
        try noteRead(
            path, stamp,
            LastReading(
                readAt: now, reader: stamp.reader, bytes: stamp.bytes, mark: nil, counts: [:]))
    }

    /// Returns the number of samples in each state that has any.
    func states() throws -> [OutboxState: Int64] {
        let counts = try self.counts()
        return Dictionary(
            uniqueKeysWithValues: OutboxState.allCases.map { ($0, counts[$0]) }
        ).filter { $0.value > 0 }
    }

    /// Returns the next batch by rules that accept everything.
    func nextBatch(limit: Int, at now: Instant) throws -> OutboxBatch? {
        try nextBatches(limit: limit, rules: [testRules()], at: now).batch
    }
}

extension OutboxDraw {
    /// The first one of its batches.
    var batch: OutboxBatch? { batches.first }
}

extension HealthStore {
    func sql(_ statement: String, _ values: Value...) throws {
        try access { connection in try connection.forEach(statement, values) { _ in } }
    }
}
