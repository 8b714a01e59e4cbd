import CCurl
import ClarityScheduler

/// libcurl's connections, and the loop that moves one transfer over them.
///
/// The multi interface for one transfer at a time: `curl_easy_perform` looks at the world once a
/// second, `curl_multi_wakeup` ends the wait at once.
///
/// `@unchecked Sendable`: the pointer is set once and freed with the last reference; every method
/// is called from the one executor of the transport that made it, except `wakeUp`, whose
/// `curl_multi_wakeup` is the call that libcurl documents as safe from any thread.
final class CurlMulti: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer

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

    deinit {
        curl_multi_cleanup(pointer)
        curl_global_cleanup()
    }

    /// Makes a `run` that is waiting look at once whether it should stop.
    func wakeUp() { curl_multi_wakeup(pointer) }

    /// Moves `easy` until it is done, and returns how it ended; `nil` when `pause` said to stop.
    ///
    /// - Parameter pause: asked between moves for the longest wait; `nil` aborts the transfer and
    ///   closes its connection.
    func run(
        _ easy: UnsafeMutableRawPointer, pause: () -> Duration?
    ) throws(TransportError) -> CURLcode? {
        try check(curl_multi_add_handle(pointer, easy))
        // Fails only for a handle that is not among the added.
        defer { curl_multi_remove_handle(pointer, easy) }
        var running: Int32 = 0
        while true {
            try check(curl_multi_perform(pointer, &running))
            if running == 0 { return try outcome(of: easy) }
            guard let wait = pause() else { return nil }
            let milliseconds = Int32(clamping: max(1, wait.milliseconds))
            try check(curl_multi_poll(pointer, nil, 0, milliseconds, nil))
        }
    }

    private func outcome(of easy: UnsafeMutableRawPointer) throws(TransportError) -> CURLcode {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            if message.pointee.msg == CURLMSG_DONE, message.pointee.easy_handle == easy {
                return message.pointee.data.result
            }
        }
        throw .library(code: Int(CURLE_FAILED_INIT.rawValue))
    }

    private func check(_ code: CURLMcode) throws(TransportError) {
        // Numbers of the two enumerations overlap; the thousand tells them apart.
        guard code == CURLM_OK else { throw .library(code: 1000 + Int(code.rawValue)) }
    }
}
