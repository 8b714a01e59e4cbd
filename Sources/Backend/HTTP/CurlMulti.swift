import CCurl
import ClarityScheduler
import Synchronization

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
