import CCurl
import ClarityScheduler
import Synchronization

/// libcurl's connections, over which transfers move.
///
/// The multi interface even for one transfer at a time: `curl_easy_perform` looks at the world once
/// a second, `curl_multi_wakeup` ends the wait at once.
///
/// `@unchecked Sendable`: the pointer is set once; every method is called from the one thread that
/// moves transfers, except `wakeUp`, whose `curl_multi_wakeup` is the call that libcurl documents as
/// safe from any thread, and which the lock keeps from a handle that is closed.
final class CurlMulti: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer
    private let isOpen = Mutex(true)

    /// - Throws: `TransportError.library` when libcurl cannot start.
    init() throws(TransportError) {
        // Counted and safe to call from several threads at once since 7.84.
        let code = ccurl_global_init()
        guard code == CURLE_OK else { throw .library(code: Int(code.rawValue)) }
        guard let pointer = curl_multi_init() else {
            curl_global_cleanup()
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        self.pointer = pointer
    }

    deinit { close() }

    /// Closes the connections; the handles must be removed before. Nothing but `wakeUp` may follow.
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

    /// Ends a `wait`, the next one when none is under way.
    func wakeUp() { isOpen.withLock { if $0 { curl_multi_wakeup(pointer) } } }

    /// Begins the transfer of `easy`.
    func add(_ easy: EasyHandle) throws(TransportError) {
        try check(curl_multi_add_handle(pointer, easy.pointer))
    }

    /// Ends the transfer of `easy`; one that is not done loses its connection, or over HTTP/2 its
    /// stream.
    func remove(_ easy: EasyHandle) {
        // Fails only for a handle that is not among the added.
        curl_multi_remove_handle(pointer, easy.pointer)
    }

    /// Moves what can be moved without waiting.
    func move() throws(TransportError) {
        var running: Int32 = 0
        try check(curl_multi_perform(pointer, &running))
    }

    /// A transfer that is done since the last question, and how it ended.
    func nextDone() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }

    /// Waits until something can be moved, `wakeUp` is called or the time is over.
    func wait(atMost span: Duration) throws(TransportError) {
        let milliseconds = Int32(clamping: max(1, span.milliseconds))
        try check(curl_multi_poll(pointer, nil, 0, milliseconds, nil))
    }

    /// Moves `easy` alone until it is done, and returns how it ended.
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
        // Numbers of the two enumerations overlap; the thousand tells them apart.
        guard code == CURLM_OK else { throw .library(code: 1000 + Int(code.rawValue)) }
    }
}
