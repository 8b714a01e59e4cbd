import ClarityTestSupport
import FoundationEssentials
import Testing

/// What the sandbox recorded of the uploads that it received.
struct SendRecord: Decodable, Sendable {
    /// One request.
    struct Send: Decodable, Sendable {
        struct Sample: Decodable, Sendable {
            var id: String
            /// `stored`, `known` (stored before) or `not kept`.
            var fate: String
        }

        var send: Int
        var connection: Int
        /// The client's port.
        var peerPort: Int
        /// Whether an answer that left whole told the client that the samples were taken.
        var accepted: Bool
        /// Whether no upload followed on the same connection.
        var last: Bool
        var samples: [Sample]

        enum CodingKeys: String, CodingKey {
            case send, connection, accepted, last, samples
            case peerPort = "peer_port"
        }
    }

    /// A sample that the requests left with the sandbox.
    struct Sample: Decodable, Sendable {
        var id: String
        var type: String
        var start: String
        var value: Double
        var copies: Int
    }

    var lastSend = 0
    var sends: [Send] = []
    var samples: [Sample] = []

    enum CodingKeys: String, CodingKey {
        case sends, samples
        case lastSend = "last_send"
    }
}

extension Sandbox {
    /// The record of the uploads after an entry.
    func sends(after send: Int = 0) async throws -> SendRecord {
        let text = try await LoopbackRequest.send(
            "GET", "/_sandbox/sends?after=\(send)", port: port, in: network)
        return try JSONDecoder().decode(SendRecord.self, from: Data(text.utf8))
    }

    /// The newest entry of that record.
    func lastSend() async throws -> Int { try await sends(after: .max).lastSend }
}
