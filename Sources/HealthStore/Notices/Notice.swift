public import ClarityScheduler

/// Something that a person should know, from when it begins until it is over.
///
/// It has job names, kinds of data and counts; never a value, an account or a path.
public struct Notice: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        /// The last finished run of a job failed for good.
        case jobFailed = "job-failed"
        /// Samples wait for a person's decision.
        case samplesSetAside = "samples-set-aside"
        /// Data is older than `fresh:` of the job file allows.
        case goalMissed = "goal-missed"
        /// A job waits for a login.
        case loginNeeded = "login-needed"
        /// Jobs were due for `Notice.silence`, and no scheduler ran.
        case schedulerOverdue = "scheduler-overdue"
        /// The newest backup is older than `Notice.oldBackup`.
        case backupOld = "backup-old"
        /// A job waits for free space.
        case diskLow = "disk-low"
        /// No job has reached the backend for `Notice.longOutage`.
        case backendUnreachable = "backend-unreachable-for"
        /// A service that starts the jobs failed, and the service manager does not restart it.
        case serviceFailed = "service-failed"
    }

    /// The age at which the newest backup counts as old: 8 days.
    public static let oldBackup = Duration.seconds(8 * 86_400)
    /// The time without an answer of the backend that is worth a notice: 6 hours.
    public static let longOutage = Duration.seconds(6 * 3600)

    /// How late jobs are before the scheduler counts as silent: 15 minutes.
    public static let silence = Duration.seconds(15 * 60)
    /// How long a person is told that the scheduler was silent, or that a service failed while another
    /// one starts the jobs: a day.
    public static let toldSilence = Duration.seconds(86_400)

    public var kind: Kind
    /// What the notice is about: a job, a kind of data, or nothing. There is at most one open
    /// notice of a kind and subject.
    public var subject: String
    /// One sentence for people, without a full stop.
    public var text: String

    /// Creates a notice.
    public init(_ kind: Kind, about subject: String = "", _ text: String) {
        self.kind = kind
        self.subject = subject
        self.text = text
    }
}

extension Notice {
    /// Returns the options that carry notices in an order.
    public static func options(_ notices: [Notice]) -> [String: String] {
        Dictionary(
            notices.enumerated().map { index, notice in
                (
                    "active.\(index)",
                    "\(notice.kind.rawValue)\u{0}\(notice.subject)\u{0}\(notice.text)"
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the notices that an order carries; an option of another form counts as none.
    public static func active(in options: [String: String]) -> [Notice] {
        options.filter { $0.key.hasPrefix("active.") }.sorted { $0.key < $1.key }
            .compactMap { _, value in
                let parts = value.split(separator: "\u{0}", omittingEmptySubsequences: false)
                guard parts.count == 3, let kind = Kind(rawValue: String(parts[0])) else {
                    return nil
                }
                return Notice(kind, about: String(parts[1]), String(parts[2]))
            }
    }
}

/// What a target is told about a notice.
public enum NoticeEvent: String, CaseIterable, Sendable {
    case raised
    case resolved
}

/// A notice as it is stored.
public struct StoredNotice: Hashable, Sendable {
    public var id: Int64
    public var notice: Notice
    public var raisedAt: Instant
    /// When it was over; `nil` while it is open.
    public var resolvedAt: Instant?

    /// Creates a stored notice.
    public init(id: Int64, notice: Notice, raisedAt: Instant, resolvedAt: Instant? = nil) {
        self.id = id
        self.notice = notice
        self.raisedAt = raisedAt
        self.resolvedAt = resolvedAt
    }
}

/// Something to tell a target.
public struct NoticeDelivery: Hashable, Sendable {
    public var notice: StoredNotice
    public var event: NoticeEvent
    /// How often it may have arrived already: sends whose answer nobody saw.
    public var unanswered: Int64

    /// Creates a delivery.
    public init(notice: StoredNotice, event: NoticeEvent, unanswered: Int64 = 0) {
        self.notice = notice
        self.event = event
        self.unanswered = unanswered
    }
}
