import ClarityTestSupport
import FoundationEssentials
import Testing

/// The sandbox's record of the uploads that it received.
struct SendRecord: Decodable, Sendable {
    /// One upload request.
    struct Send: Decodable, Sendable {
        struct Sample: Decodable, Sendable {
            var id: String
            /// `stored`, `known` (stored before) or `not kept`.
            var outcome: String
        }

        var send: Int
        var connection: Int
        /// The client's port.
        var peerPort: Int
        /// Whether an answer that left whole told the client that the samples were accepted.
        var accepted: Bool
        /// Whether no upload followed on the same connection.
        var last: Bool
        var samples: [Sample]

        enum CodingKeys: String, CodingKey {
            case send, connection, accepted, last, samples
            case peerPort = "peer_port"
        }
    }

    /// A sample that the sandbox stores.
    struct Sample: Decodable, Sendable {
        var id: String
        /// The email address of the user that has it.
        var user: String
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
    /// Returns the record of the uploads after an entry.
    func sends(after send: Int = 0) async throws -> SendRecord {
        let text = try await LoopbackRequest.send(
            "GET", "/_sandbox/sends?after=\(send)", port: port, in: network)
        return try JSONDecoder().decode(SendRecord.self, from: Data(text.utf8))
    }

    /// Returns the number of the newest entry of that record.
    func lastSend() async throws -> Int { try await sends(after: .max).lastSend }
}
