import BackendContract
public import HealthModel
public import ClarityScheduler

/// The account that the backend reports.
public struct UserProfile: Hashable, Sendable {
    public var userID: String
    /// `nil` if the backend does not report it.
    public var email: String?
    public var displayName: String?
    /// Whether the e-mail address is confirmed; `nil` if the backend does not report it.
    public var isVerified: Bool?
    /// Further facts that the backend reports about the account.
    public var details = Details()

    /// Facts that are shown and decide nothing; `nil` if the backend does not report them.
    public struct Details: Hashable, Sendable {
        public var firstName: String?
        public var lastName: String?
        public var role: String?
        public var permissions: [String] = []
        public var status: String?
        public var createdAt: Instant?
        public var lastLogin: Instant?
        public var hasSecondFactor: Bool?
        /// The service that authenticates the user.
        public var provider: String?
    }
}

/// The backend's progress with an upload.
public struct ProcessingStatus: Hashable, Sendable {
    /// A step of the backend's work.
    public enum State: String, Sendable {
        case received
        case processing
        case completed
        case failed
        /// The upload is stored, and the backend reports nothing more about it.
        case stored
        /// A step that the contract does not have; the work may go on.
        case other

        /// Reads the backend's word; an upload that waits in a queue counts as received.
        init(wire word: String) {
            self = word == "queued" ? .received : State(rawValue: word) ?? .other
        }
    }

    public var state: State
    /// The finished share, 0 to 1; `nil` if the backend does not report it.
    public var progress: Double?

    /// Whether the state never changes again.
    public var isFinal: Bool { [.completed, .failed, .stored].contains(state) }
}

/// A row of health data as the backend stores it, with the fields that a cache finds it by.
public struct HealthDataRow: Hashable, Sendable {
    public var id: String
    public var type: String
    /// The backend's instant of the row; the later one wins a conflict.
    public var timestamp: Instant
    /// The row's JSON as it was received.
    public var json: [UInt8]
}

/// A page of health data.
public struct HealthDataPage: Hashable, Sendable {
    public var rows: [HealthDataRow]
    /// The number of rows without a readable id, type or instant; `rows` leaves them out.
    public var unreadableRows: Int
    /// The cursor of the next page; `nil` on the last one.
    public var nextCursor: String?
}

/// An insight in the history as it was received, with the fields that a cache finds it by.
public struct InsightRow: Hashable, Sendable {
    public var id: String
    public var generatedAt: Instant
    /// The insight's JSON as it was received.
    public var json: [UInt8]
}

/// A page of insights, newest first.
public struct InsightsPage: Hashable, Sendable {
    public var rows: [InsightRow]
    /// The number of rows without a readable id or instant; `rows` leaves them out.
    public var unreadableRows = 0
    /// The ids of insights that the backend is still making; `rows` leaves them out.
    public var unfinished: [String] = []
    /// The number of insights that the backend is still making.
    public var unfinishedRows: Int { unfinished.count }
    /// Whether the backend has more; a page without rows is the last one all the same.
    public var hasMore: Bool
}

// Rows are health data: their descriptions and dumps show what they are, not what they hold.

extension HealthDataRow: CustomStringConvertible, CustomReflectable {
    public var description: String { "health data row of \(json.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension InsightRow: CustomStringConvertible, CustomReflectable {
    public var description: String { "insight of \(json.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The result of a registration.
public struct RegistrationResult: Hashable, Sendable {
    /// `nil` if the backend does not report it.
    public var userID: String?
    /// Whether the e-mail address must be confirmed before anybody can log in.
    public var needsVerification: Bool
}

/// A full insight as it was received, with its state.
public struct Insight: Hashable, PrivateValue {
    public enum State: Hashable, Sendable {
        case generating, completed, failed
    }

    /// `nil` if the backend gives a new insight none; the history lists it with the same
    /// `generatedAt`.
    public var id: String?
    public var state: State
    public var generatedAt: Instant?
    /// The insight's JSON as it was received.
    public var json: [UInt8]
}

/// An analysis of a recording as it was received, with its state.
public struct Analysis: Hashable, PrivateValue {
    public enum State: String, Hashable, Sendable {
        case received, processing, completed, failed
        case notFound = "not_found"
        /// A state that the contract does not have; the work may go on.
        case other
    }

    public var id: String
    public var state: State
    /// Whether the backend had already analysed the same recording.
    public var isCached: Bool
    /// The answer's JSON as it was received.
    public var json: [UInt8]
}

/// The health that a service of the backend reports; it proves little.
public struct ServiceHealth: Hashable, Sendable {
    public var isHealthy: Bool
    public var service: String?
    public var version: String?
}
