import CMicroHTTPD

/// An answer to a request.
public struct Answer: Sendable {
    /// The headers in the order in which they are sent.
    public struct Headers: Hashable, Sendable, ExpressibleByDictionaryLiteral {
        /// A header.
        public struct Header: Hashable, Sendable {
            public var name: String
            public var value: String
        }

        public private(set) var list: [Header]

        public init(_ list: some Sequence<(name: String, value: String)>) {
            self.list = list.map { Header(name: $0.name, value: $0.value) }
        }

        public init(dictionaryLiteral elements: (String, String)...) {
            self.init(elements.map { (name: $0.0, value: $0.1) })
        }

        /// The first header of this name, as it is written; `nil` removes all of them.
        public subscript(name: String) -> String? {
            get { list.first { $0.name == name }?.value }
            set {
                let place = list.firstIndex { $0.name == name } ?? list.endIndex
                list.removeAll { $0.name == name }
                if let newValue { list.insert(Header(name: name, value: newValue), at: place) }
            }
        }

        /// Returns these headers, and those of `others` that are not among them.
        public func adding(_ others: Headers) -> Headers {
            var all = self
            for header in others.list where self[header.name] == nil { all.list.append(header) }
            return all
        }
    }

    /// The body.
    public enum Content: Sendable {
        case bytes([UInt8])
        /// Bytes that stay where they are as long as the program runs.
        case fixed(FixedBytes)
        /// An endless body, whose parts are sent as they come.
        case stream(any AnswerStream)
        /// A fault: the length of all these bytes is announced, and the connection is closed after
        /// the first `count`.
        case cut([UInt8], after: Int)
    }

    /// The place of bytes that never move or change, such as those of an embedded file.
    ///
    /// `@unchecked`: nobody writes there.
    public struct FixedBytes: @unchecked Sendable {
        public let start: UnsafeRawPointer
        public let count: Int

        public init(start: UnsafeRawPointer, count: Int) {
            (self.start, self.count) = (start, count)
        }
    }

    public var status: UInt32
    public var headers: Headers
    public var content: Content

    /// Creates an answer with these headers and no others of its own.
    public init(_ status: UInt32, _ headers: Headers, _ content: Content) {
        (self.status, self.headers, self.content) = (status, headers, content)
    }

    /// Creates an answer that no cache keeps and whose type no browser guesses.
    ///
    /// - Parameters:
    ///   - content: the body, in place of `text`.
    ///   - headers: further headers; they replace the usual ones of the same name.
    public init(
        status: UInt32, type: String = "text/plain; charset=utf-8", text: String = "",
        content: Content? = nil, headers: Headers = [:]
    ) {
        let usual: Headers = [
            "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        self.init(status, headers.adding(usual), content ?? .bytes(Array(text.utf8)))
    }

    /// Returns what libmicrohttpd sends; `nil` if it has no memory for it.
    func response(on connection: OpaquePointer, _ suspensions: Suspensions) -> OpaquePointer? {
        switch content {
        case .bytes(let bytes):
            // The bytes are copied. The pointer is mutable only because other modes need it.
            bytes.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    .RESPMEM_MUST_COPY)
            }
        case .fixed(let bytes):
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.start), .RESPMEM_PERSISTENT)
        case .stream(let stream):
            ReadBody.response(
                cmicrohttpd_size_unknown, 1024,
                { _, room in
                    var isStopping = false
                    let part = stream.next(room: room) {
                        let suspended = suspensions.suspend(connection)
                        isStopping = suspended == nil
                        return suspended
                    }
                    guard let part else { return isStopping ? .end : .nothingYet }
                    return part.isEmpty ? .end : .part(part[...])
                }, atEnd: stream.abandon)
        case .cut(let bytes, let count):
            ReadBody.response(
                UInt64(bytes.count), 16_384,
                { offset, room in
                    let part = bytes.prefix(count).dropFirst(offset).prefix(room)
                    return part.isEmpty ? .fault : .part(part)
                }, atEnd: {})
        }
    }
}

/// A body whose parts are not known yet.
public protocol AnswerStream: AnyObject, Sendable {
    /// Returns the next bytes, at most `room`; empty at the end.
    ///
    /// If there are none yet, calls `suspend` and returns `nil`. The stream then resumes the
    /// connection when there are some.
    func next(room: Int, suspend: () -> ResumableConnection?) -> [UInt8]?

    /// Is called once, when nobody reads the stream any more.
    func abandon()
}

/// A body that libmicrohttpd reads part by part.
private final class ReadBody {
    enum Part {
        case part(ArraySlice<UInt8>)
        case nothingYet
        case end
        /// The connection is closed before the end.
        case fault
    }

    private let read: (_ offset: Int, _ room: Int) -> Part
    private let atEnd: () -> Void

    private init(_ read: @escaping (Int, Int) -> Part, _ atEnd: @escaping () -> Void) {
        (self.read, self.atEnd) = (read, atEnd)
    }

    deinit { atEnd() }

    static func response(
        _ size: UInt64, _ block: Int, _ read: @escaping (Int, Int) -> Part,
        atEnd: @escaping () -> Void
    ) -> OpaquePointer? {
        let body = Unmanaged.passRetained(ReadBody(read, atEnd))
        let made = MHD_create_response_from_callback(
            size, block,
            { context, offset, buffer, room in
                guard let context, let buffer else { return cmicrohttpd_end_with_error }
                let body = Unmanaged<ReadBody>.fromOpaque(context).takeUnretainedValue()
                switch body.read(Int(offset), room) {
                case .part(let part):
                    part.withUnsafeBytes { bytes in
                        UnsafeMutableRawBufferPointer(start: buffer, count: room)
                            .copyMemory(from: bytes)
                    }
                    return part.count
                case .nothingYet: return 0
                case .end: return cmicrohttpd_end_of_stream
                case .fault: return cmicrohttpd_end_with_error
                }
            }, body.toOpaque(),
            { context in
                if let context { Unmanaged<ReadBody>.fromOpaque(context).release() }
            })
        // Without a response, nothing else releases the body.
        if made == nil { body.release() }
        return made
    }
}
