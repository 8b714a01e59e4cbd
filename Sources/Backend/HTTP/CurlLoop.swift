import BackendContract
import CCurl
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Synchronization

/// The thread that performs all requests of one transport.
///
/// It also runs the work of tasks that prefer it as their executor: the two thread switches of a
/// request from another thread cost as much as a small request. Work that blocks here blocks all
/// requests.
final class CurlLoop: TaskExecutor {
    private struct Inbox {
        var jobs: [CurlJob] = []
        var work: [UnownedJob] = []
        var isEnding = false
        /// Why the loop accepts no more work.
        var end: TransportError?

        mutating func take() -> (jobs: [CurlJob], work: [UnownedJob]) {
            defer { (jobs, work) = ([], []) }
            return (jobs, work)
        }
    }

    private let multi: CurlMulti
    private let setup: CurlSetup
    private let inbox = Mutex(Inbox())
    /// The thread's `pthread_t`; 0 before it runs.
    private let thread = Atomic<UInt>(0)

    /// Starts the thread, which runs until `end()` is called.
    ///
    /// - Throws: `TransportError.library` if libcurl or the thread cannot start.
    init(_ setup: CurlSetup) throws(TransportError) {
        self.setup = setup
        multi = try CurlMulti()
        // Further requests wait for one of these connections, to spare the backend.
        try multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, 6)
        try multi.set(CURLMOPT_MAXCONNECTS, 6)
        try start()
    }

    /// Accepts a job, and finishes it in any case.
    func submit(_ job: CurlJob) {
        let end = inbox.withLock { inbox in
            if inbox.end == nil { inbox.jobs.append(job) }
            return inbox.end
        }
        if let end { job.finish(.failure(end)) } else { rouse() }
    }

    /// Runs a step of a task in any case; on the global executor if the thread has ended.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasEnded = inbox.withLock { inbox in
            if inbox.end == nil { inbox.work.append(job) }
            return inbox.end != nil
        }
        if hasEnded { globalConcurrentExecutor.enqueue(job) } else { rouse() }
    }

    /// Makes the thread check at once whether a job was cancelled.
    func look() { multi.wakeUp() }

    /// Ends the thread and closes the connections; requests in progress are cancelled.
    func end() {
        inbox.withLock { $0.isEnding = true }
        multi.wakeUp()
    }

    /// Wakes the thread so that it reads the inbox; by itself it does so before each wait.
    private func rouse() {
        if thread.load(ordering: .relaxed) != pthread_self() { multi.wakeUp() }
    }

    private func start() throws(TransportError) {
        // On its thread all signals are blocked: the SIGPIPE of a connection that OpenSSL writes to
        // after its end is for nobody. The threads in which libcurl resolves names inherit this.
        guard DetachedThread.start({ [self] in run() }) == 0 else {
            throw .library(code: Int(CURLE_FAILED_INIT.rawValue))
        }
    }

    private func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        let traffic = CurlTraffic(multi, setup)
        var end = TransportError.cancelled
        do throws(TransportError) {
            while let (jobs, work) = next() {
                jobs.forEach { traffic.begin($0) }
                work.forEach { $0.runSynchronously(on: asUnownedTaskExecutor()) }
                let wait = try traffic.move()
                if hasNothingNew { try multi.wait(atMost: wait) }
            }
        } catch {
            end = error
        }
        traffic.end(with: end)
        let (jobs, work) = inbox.withLock { inbox in
            inbox.end = end
            return inbox.take()
        }
        jobs.forEach { $0.finish(.failure(end)) }
        work.forEach { globalConcurrentExecutor.enqueue($0) }
        // On this thread, because it blocks SIGPIPE.
        multi.close()
    }

    /// Returns the new work; `nil` after `end()`.
    private func next() -> (jobs: [CurlJob], work: [UnownedJob])? {
        inbox.withLock { $0.isEnding ? nil : $0.take() }
    }

    private var hasNothingNew: Bool {
        inbox.withLock { $0.jobs.isEmpty && $0.work.isEmpty && !$0.isEnding }
    }
}

/// The requests in progress. Used by the loop's thread only.
private final class CurlTraffic {
    /// How many idle handles are kept, with the TLS sessions that they remember.
    private static let mostIdle = 6
    /// The longest wait: 1 h. Nothing needs checking while no request is in progress.
    private static let longestWait = Duration.seconds(3600)

    private let multi: CurlMulti
    private let setup: CurlSetup
    private let clock = ContinuousClock()
    private var exchanges: [UnsafeMutableRawPointer: CurlExchange] = [:]
    private var idle: [EasyHandle] = []

    init(_ multi: CurlMulti, _ setup: CurlSetup) {
        self.multi = multi
        self.setup = setup
    }

    /// Starts a request, unless it was cancelled or must not be sent.
    func begin(_ job: CurlJob) {
        if job.isCancelled {
            job.finish(.failure(.cancelled))
            return
        }
        do throws(TransportError) {
            let easy = try handle()
            let exchange = try CurlExchange(job, easy, setup)
            try multi.add(easy)
            exchanges[easy.pointer] = exchange
        } catch {
            job.finish(.failure(error))
        }
    }

    private func handle() throws(TransportError) -> EasyHandle {
        if let easy = idle.popLast() { return easy }
        return try EasyHandle()
    }

    /// Moves all transfers, finishes those that are done, and returns how long nothing needs
    /// checking unless a transfer can move.
    func move() throws(TransportError) -> Duration {
        try multi.move()
        while let (pointer, code) = multi.nextDone() {
            guard let exchange = exchanges[pointer] else { continue }
            // libcurl keeps the connection if sending fails at once. The next request would receive
            // an answer that still arrives, or be read as the rest of this one.
            if [CURLE_SEND_ERROR, CURLE_READ_ERROR, CURLE_ABORTED_BY_CALLBACK].contains(code) {
                exchange.easy.dropConnection()
            }
            finish(exchange, exchange.result(code))
        }
        var wait = CurlTraffic.longestWait
        let now = clock.now
        for exchange in exchanges.values {
            let patience = exchange.patience(now)
            if exchange.job.isCancelled {
                finish(exchange, .failure(.cancelled))
            } else if let patience, patience <= .zero {
                finish(exchange, .failure(.stalled))
            } else if let patience {
                wait = min(wait, patience)
            }
        }
        return wait
    }

    /// Ends all requests in progress with `error`.
    func end(with error: TransportError) {
        for exchange in exchanges.values { finish(exchange, .failure(error)) }
        idle = []
    }

    /// Reports the result after the request has left its connection: after a cancellation, callers
    /// rely on that.
    private func finish(_ exchange: CurlExchange, _ result: Result<HTTPResponse, TransportError>) {
        multi.remove(exchange.easy)
        exchanges[exchange.easy.pointer] = nil
        if idle.count < CurlTraffic.mostIdle { idle.append(exchange.easy) }
        exchange.job.finish(result)
    }
}

/// libcurl's connections, and the transfers over them.
///
/// This uses the multi interface even for one transfer at a time: `curl_easy_perform` wakes up once
/// a second, while `curl_multi_wakeup` ends a wait at once.
///
/// `@unchecked Sendable`: the pointer is set once, and every method but `wakeUp` is called from the
/// one thread that moves transfers. libcurl documents `curl_multi_wakeup` as safe from any thread,
/// and the lock keeps it from using a handle that is closed.
final class CurlMulti: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer
    private let isOpen = Mutex(true)

    /// - Throws: `TransportError.library` when libcurl cannot start.
    init() throws(TransportError) {
        // libcurl counts these calls, and allows them from several threads at once since 7.84.
        let code = ccurl_global_init()
        guard code == CURLE_OK else { throw .library(code: Int(code.rawValue)) }
        guard let pointer = curl_multi_init() else {
            curl_global_cleanup()
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        self.pointer = pointer
    }

    deinit { close() }

    /// Closes the connections. All handles must be removed before; only `wakeUp` may be called
    /// after.
    func close() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            curl_multi_cleanup(pointer)
            curl_global_cleanup()
        }
    }

    func set(_ option: CURLMoption, _ number: Int) throws(TransportError) {
        try check(ccurl_multi_set_long(pointer, option, number))
    }

    /// Ends the `wait` in progress, otherwise the next one.
    func wakeUp() { isOpen.withLock { if $0 { curl_multi_wakeup(pointer) } } }

    /// Starts the transfer of `easy`.
    func add(_ easy: EasyHandle) throws(TransportError) {
        try check(curl_multi_add_handle(pointer, easy.pointer))
    }

    /// Ends the transfer of `easy`. An unfinished transfer loses its connection, or over HTTP/2 its
    /// stream.
    func remove(_ easy: EasyHandle) {
        // Fails only for a handle that was not added.
        curl_multi_remove_handle(pointer, easy.pointer)
    }

    /// Moves all transfers as far as possible without waiting.
    func move() throws(TransportError) {
        var running: Int32 = 0
        try check(curl_multi_perform(pointer, &running))
    }

    /// Returns a transfer that has finished since the last call, and its result; `nil` if none has.
    func nextDone() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }

    /// Waits until a transfer can move, `wakeUp` is called or `span` is over.
    func wait(atMost span: Duration) throws(TransportError) {
        let milliseconds = Int32(clamping: max(1, span.milliseconds))
        try check(curl_multi_poll(pointer, nil, 0, milliseconds, nil))
    }

    /// Moves `easy` alone until it has finished, and returns its result.
    func run(_ easy: EasyHandle) throws(TransportError) -> CURLcode {
        try add(easy)
        defer { remove(easy) }
        while true {
            try move()
            while let done = nextDone() { if done.easy == easy.pointer { return done.code } }
            try wait(atMost: .seconds(60))
        }
    }

    private func check(_ code: CURLMcode) throws(TransportError) {
        // The numbers of the two enumerations overlap; the added 1000 distinguishes them.
        guard code == CURLM_OK else { throw .library(code: 1000 + Int(code.rawValue)) }
    }
}
