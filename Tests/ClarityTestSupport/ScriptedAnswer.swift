public import Testing

/// What a scripted server does with one request.
public struct ScriptedAnswer: Sendable {
    /// What happens to the connection after the bytes.
    public enum Ending: Sendable {
        /// It stays open, for the next request or for nothing.
        case keep
        /// It is closed in an orderly way, without an announcement.
        case close
        /// It is torn down: the other end reads `ECONNRESET`.
        case reset
    }

    /// The bytes to send, unchanged.
    public var bytes: [UInt8]
    public var ending: Ending

    /// Creates an answer from any bytes, well-formed or not.
    public init(_ bytes: [UInt8], _ ending: Ending) {
        self.bytes = bytes
        self.ending = ending
    }

    /// Returns a complete answer. The connection is kept unless `ending` says otherwise.
    public static func answer(
        _ status: Int = 200, _ body: String = "{}", headers: [String] = [],
        then ending: Ending = .keep
    ) -> ScriptedAnswer {
        let fields = ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        return ScriptedAnswer(head(status, fields + headers) + Array(body.utf8), ending)
    }

    /// Returns an answer that announces `announced` bytes of body and ends before they are
    /// complete.
    public static func truncated(
        _ body: String, announced: Int, then ending: Ending = .close
    ) -> ScriptedAnswer {
        ScriptedAnswer(head(200, ["Content-Length: \(announced)"]) + Array(body.utf8), ending)
    }

    /// Returns bytes that are not HTTP.
    public static func garbage(_ text: String) -> ScriptedAnswer {
        ScriptedAnswer(Array(text.utf8), .close)
    }

    /// The request is read and never answered.
    public static var silence: ScriptedAnswer { ScriptedAnswer([], .keep) }
    /// The connection is torn down instead of an answer.
    public static var reset: ScriptedAnswer { ScriptedAnswer([], .reset) }
    /// The connection is closed instead of an answer.
    public static var close: ScriptedAnswer { ScriptedAnswer([], .close) }

    private static func head(_ status: Int, _ fields: [String]) -> [UInt8] {
        let lines = ["HTTP/1.1 \(status) Scripted"] + fields + ["", ""]
        return Array(lines.joined(separator: "\r\n").utf8)
    }
}

extension ScriptedAnswer: CustomTestStringConvertible {
    /// The first line, the number of bytes and the ending: a case of a test is called after it.
    public var testDescription: String {
        let line = String(decoding: bytes.prefix { $0 != 0x0D }.prefix(60), as: UTF8.self)
        return "`\(line)`, \(bytes.count) bytes, \(ending)"
    }
}

/// A request as a scripted server read it.
public struct ScriptedRequest: Hashable, Sendable {
    /// The number of the connection, from 1.
    public var connection: Int
    public var method: String
    public var target: String
    /// The header fields by lower-case name.
    public var headers: [String: String]
    public var body: String

    /// Reads one request from the front of `bytes` and removes it. Returns `nil` until it is
    /// complete.
    init?(from bytes: inout [UInt8], connection: Int) {
        let end = Array("\r\n\r\n".utf8)
        guard
            let head = bytes.indices.first(where: { bytes[$0...].starts(with: end) })
        else { return nil }
        let lines = String(decoding: bytes[..<head], as: UTF8.self).split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].dropFirst()) : ""
        }
        let start = head + end.count
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        guard words.count == 3, bytes.count >= start + length else { return nil }
        self.connection = connection
        method = String(words[0])
        target = String(words[1])
        self.headers = headers
        body = String(decoding: bytes[start..<(start + length)], as: UTF8.self)
        bytes.removeFirst(start + length)
    }
}
