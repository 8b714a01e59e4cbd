public import ClarityScheduler

/// Whose account the backend says it is.
public struct UserProfile: Hashable, Sendable {
    public var userID: String
    /// `nil` where the backend does not say.
    public var email: String?
    public var displayName: String?
    /// Whether the e-mail address is confirmed; `nil` where the backend does not say.
    public var isVerified: Bool?
    /// What else the backend says of the account.
    public var details = Details()

    /// What of an account is shown and never decided by; `nil` is what the backend does not say.
    public struct Details: Hashable, Sendable {
        public var firstName: String?
        public var lastName: String?
        public var role: String?
        public var permissions: [String] = []
        public var status: String?
        public var createdAt: Instant?
        public var lastLogin: Instant?
        public var hasSecondFactor: Bool?
        /// Who vouches for the login.
        public var provider: String?
    }

    /// Creates a profile.
    public init(
        userID: String, email: String?, displayName: String? = nil, isVerified: Bool? = nil
    ) {
        self.userID = userID
        self.email = email
        self.displayName = displayName
        self.isVerified = isVerified
    }
}

/// How far the backend is with an upload.
public struct ProcessingStatus: Hashable, Sendable {
    /// A step of the backend's work.
    public enum State: String, Sendable {
        case received
        case processing
        case completed
        case failed
        /// It is there, and nothing more is said of it.
        case stored
        /// A step that the contract does not have; it may go on.
        case other

        /// Reads the backend's word; what only waits for its turn was received.
        init(wire word: String) {
            self = word == "queued" ? .received : State(rawValue: word) ?? .other
        }
    }

    public var state: State
    /// How much is done, 0 to 1; `nil` when the backend does not say.
    public var progress: Double?

    /// Whether the state stays as it is.
    public var isFinal: Bool { [.completed, .failed, .stored].contains(state) }

    /// Creates a status.
    public init(state: State, progress: Double?) {
        self.state = state
        self.progress = progress
    }
}

/// A row of health data as the backend keeps it: its bytes, and what a cache finds it by.
public struct HealthDataRow: Hashable, Sendable {
    public var id: String
    public var type: String
    /// The backend's instant of the row; the later one wins a conflict.
    public var timestamp: Instant
    /// The row's JSON as it came.
    public var json: [UInt8]

    /// Creates a row.
    public init(id: String, type: String, timestamp: Instant, json: [UInt8]) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        self.json = json
    }
}

/// A page of health data.
public struct HealthDataPage: Hashable, Sendable {
    public var rows: [HealthDataRow]
    /// Rows that have no id, type or instant that can be read; they are left out of `rows`.
    public var unreadableRows: Int
    /// Where the next page begins; `nil` on the last.
    public var nextCursor: String?

    /// Creates a page.
    public init(rows: [HealthDataRow], unreadableRows: Int, nextCursor: String?) {
        self.rows = rows
        self.unreadableRows = unreadableRows
        self.nextCursor = nextCursor
    }
}

/// An insight of the history: its bytes, and what a cache finds it by.
public struct InsightRow: Hashable, Sendable {
    public var id: String
    public var generatedAt: Instant
    /// The insight's JSON as it came.
    public var json: [UInt8]

    /// Creates a row.
    public init(id: String, generatedAt: Instant, json: [UInt8]) {
        self.id = id
        self.generatedAt = generatedAt
        self.json = json
    }
}

/// A page of insights, newest first.
public struct InsightsPage: Hashable, Sendable {
    public var rows: [InsightRow]
    /// Rows that have no id or instant that can be read; they are left out of `rows`.
    public var unreadableRows: Int
    /// The ids of insights that the backend is still making; they are left out of `rows`.
    public var unfinished: [String]
    /// How many those are.
    public var unfinishedRows: Int { unfinished.count }
    /// Whether the backend has more; a page without any row is the last all the same.
    public var hasMore: Bool

    /// Creates a page.
    public init(
        rows: [InsightRow], unreadableRows: Int = 0, unfinished: [String] = [], hasMore: Bool
    ) {
        self.rows = rows
        self.unreadableRows = unreadableRows
        self.unfinished = unfinished
        self.hasMore = hasMore
    }
}

// Rows are health data: printed or dumped they show what they are, not what they hold.

extension HealthDataRow: CustomStringConvertible, CustomReflectable {
    public var description: String { "health data row of \(json.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension InsightRow: CustomStringConvertible, CustomReflectable {
    public var description: String { "insight of \(json.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
