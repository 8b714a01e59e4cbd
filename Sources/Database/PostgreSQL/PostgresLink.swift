import CPostgreSQL
@preconcurrency import Glibc

/// A connection of libpq that never waits longer than it may.
///
/// libpq's own blocking calls wait for a frozen server for ever. These send, wait for the socket
/// and read (PostgreSQL's documentation, 34.4).
final class PostgresLink {
    let library: UnsafePointer<cpostgresql>
    private let connection: OpaquePointer
    /// How long an answer may take.
    private let patience: Duration
    /// Set when the connection has failed: then nothing more is tried on it.
    private(set) var fault: DatabaseError?
    private var isClosed = false
    /// Whether a connection pool is between this side and the server.
    var isPooled = false
    /// The statements that were posted and not yet collected, and the bytes of their values that
    /// libpq may still have.
    private var posted: [String] = []
    private var unsent = 0
    private static let mostUnsent = 32 * 1024

    /// Connects and logs in.
    ///
    /// - Throws: `DatabaseError`: `.gone` for a server that does not answer, `.access` for one that
    ///   refuses the login, `.other` without libpq.
    init(_ address: ServerAddress, patience: Duration) throws(DatabaseError) {
        let login = try PostgresLogin(address)
        library = login.library
        self.patience = patience
        connection = try login.connect(within: patience)
        _ = library.pointee.PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
        _ = library.pointee.PQsetnonblocking(connection, 1)
        // Notices, such as that a table exists already, are for people at a terminal.
        _ = library.pointee.PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { close() }

    /// Ends the connection, after which nothing more is tried on it.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        fault = fault ?? .gone("the connection was closed")
        library.pointee.PQfinish(connection)
    }

    /// The socket, on which notifications arrive; -1 once it is closed.
    var socket: Int32 { isClosed ? -1 : library.pointee.PQsocket(connection) }

    /// The process of the server that the login named.
    var processID: Int64 { Int64(library.pointee.PQbackendPID(connection)) }

    /// Whether a transaction is open on the server, and whether a statement has failed in it. Knows
    /// only of what was collected.
    var transaction: (isOpen: Bool, hasFailed: Bool) {
        let status = library.pointee.PQtransactionStatus(connection)
        return (status != PQTRANS_IDLE, status == PQTRANS_INERROR)
    }

    // MARK: Statements

    /// Runs one or more statements that take no values, and ignores their rows. What was posted
    /// must have been collected.
    func execute(_ script: String) throws(DatabaseError) {
        if let fault { throw fault }
        guard library.pointee.PQsendQuery(connection, script) == 1 else { throw lost() }
        try flush()
        var failure: DatabaseError?
        while let result = try nextResult(after: failure) {
            defer { library.pointee.PQclear(result) }
            failure = failure ?? self.failure(result, script)
        }
        try checkAlive(failure)
        if let failure { throw failure }
    }

    /// How many statements were posted and not yet collected.
    var postedCount: Int { posted.count }

    /// Puts a statement on its way to the server, which runs it when it arrives: little ones wait
    /// here for more, or for `collect`.
    ///
    /// - Parameters:
    ///   - bytes: the length of its values.
    ///   - send: the call of libpq that sends it.
    func post(
        _ sql: String, bytes: Int, send: (OpaquePointer, UnsafePointer<cpostgresql>) -> Int32
    ) throws(DatabaseError) {
        if let fault { throw fault }
        if posted.isEmpty {
            guard library.pointee.PQenterPipelineMode(connection) == 1 else { throw lost() }
        }
        posted.append(sql)
        guard send(connection, library) == 1 else { throw lost() }
        unsent += bytes
        guard unsent >= PostgresLink.mostUnsent else { return }
        unsent = 0
        try flush()
    }

    /// Waits until the server is done with all that was posted; after a failure it does nothing of
    /// what followed, and the first failure is thrown.
    ///
    /// - Parameters:
    ///   - count: called with each result, and only to count what it changed.
    ///   - body: called with the last result, when the connection is free for what it asks of it.
    func collect(
        count: (OpaquePointer) -> Void = { _ in }, _ body: (OpaquePointer) -> Void = { _ in }
    ) throws(DatabaseError) {
        if let fault { throw fault }
        guard !posted.isEmpty else { return }
        let statements = posted
        (posted, unsent) = ([], 0)
        guard library.pointee.PQpipelineSync(connection) == 1 else { throw lost() }
        try flush()
        var failure: DatabaseError?
        var last: OpaquePointer?
        defer { library.pointee.PQclear(last) }
        var place = 0
        while true {
            guard let result = try nextResult(after: failure) else {
                // This separates the results of two statements.
                try checkAlive(failure)
                place += 1
                continue
            }
            guard library.pointee.PQresultStatus(result) != PGRES_PIPELINE_SYNC else {
                library.pointee.PQclear(result)
                break
            }
            library.pointee.PQclear(last)
            last = result
            failure = failure ?? self.failure(result, statements[min(place, statements.count - 1)])
            if failure == nil { count(result) }
            try checkAlive(failure)
        }
        guard library.pointee.PQexitPipelineMode(connection) == 1 else { throw lost() }
        if let failure { throw failure }
        if let last { body(last) }
    }

    /// Waits for the next result; `nil` if there is no other one.
    ///
    /// - Parameter failure: what may be why the server ends the connection.
    private func nextResult(
        after failure: DatabaseError?
    ) throws(DatabaseError) -> OpaquePointer? {
        let deadline = ContinuousClock.now + patience
        while library.pointee.PQisBusy(connection) != 0 {
            guard wait(for: Int16(POLLIN), until: deadline) else {
                throw lost("no answer from the server within \(patience)")
            }
            guard library.pointee.PQconsumeInput(connection) == 1 else {
                throw lost(failure?.message)
            }
        }
        return library.pointee.PQgetResult(connection)
    }

    /// Returns the failure that a result tells.
    private func failure(_ result: OpaquePointer, _ sql: String) -> DatabaseError? {
        switch library.pointee.PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: nil
        default: error(of: result, sql)
        }
    }

    /// Checks that the connection is still there: the server ends it with an error, and libpq with
    /// a status.
    private func checkAlive(_ failure: DatabaseError?) throws(DatabaseError) {
        guard library.pointee.PQstatus(connection) == CONNECTION_BAD else { return }
        throw lost(failure?.message)
    }

    /// Returns the notifications since the last call.
    func takeNotifications() throws(DatabaseError) -> [ServerNotification] {
        if let fault { throw fault }
        guard library.pointee.PQconsumeInput(connection) == 1 else { throw lost() }
        var notifications: [ServerNotification] = []
        while let notice = library.pointee.PQnotifies(connection) {
            notifications.append(
                ServerNotification(
                    channel: String(cString: notice.pointee.relname),
                    payload: notice.pointee.extra.map { String(cString: $0) } ?? ""))
            library.pointee.PQfreemem(notice)
        }
        return notifications
    }

    // MARK: Waiting

    /// Sends all that libpq has kept.
    private func flush() throws(DatabaseError) {
        let deadline = ContinuousClock.now + patience
        while true {
            switch library.pointee.PQflush(connection) {
            case 0: return
            case 1:
                // The server may wait for this side to read before it takes more.
                guard wait(for: Int16(POLLIN | POLLOUT), until: deadline),
                    library.pointee.PQconsumeInput(connection) == 1
                else { throw lost("no answer from the server within \(patience)") }
            default: throw lost()
            }
        }
    }

    private func wait(for events: Int16, until deadline: ContinuousClock.Instant) -> Bool {
        PostgresLink.wait(for: events, on: socket, until: deadline)
    }

    /// Waits until a socket is ready; returns whether it is.
    static func wait(
        for events: Int16, on socket: Int32, until deadline: ContinuousClock.Instant
    ) -> Bool {
        while true {
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else { return false }
            var descriptor = pollfd(fd: socket, events: events, revents: 0)
            let ready = poll(&descriptor, 1, Int32(clamping: Int64(left.rounded(.up))))
            if ready > 0 { return true }
            if ready < 0, errno != EINTR { return false }
        }
    }

    // MARK: Errors

    private func lost(_ message: String? = nil) -> DatabaseError {
        let error = DatabaseError.gone(message ?? lastMessage)
        fault = error
        return error
    }

    private var lastMessage: String { library.pointee.lines(connection).joined(separator: "; ") }

    private func error(of result: OpaquePointer, _ sql: String?) -> DatabaseError {
        func field(_ code: Character) -> String? {
            library.pointee.PQresultErrorField(result, Int32(code.asciiValue ?? 0))
                .map { String(cString: $0) }
        }
        return DatabaseError(
            sqlState: field("C") ?? "XX000", message: field("M") ?? lastMessage, statement: sql,
            isPooled: isPooled)
    }
}

extension cpostgresql {
    /// The lines of a connection's last message.
    func lines(_ connection: OpaquePointer) -> [String] {
        guard let text = PQerrorMessage(connection) else { return [] }
        return String(cString: text).split(separator: "\n").map { line in
            String(line.drop { $0.isWhitespace })
        }
    }
}
