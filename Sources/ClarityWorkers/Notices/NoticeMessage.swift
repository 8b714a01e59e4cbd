import ClarityJobs
import ClarityScheduler
import JSON

/// What a target is told at one time: everything that waits for it.
struct NoticeMessage: Sendable {
    var deliveries: [NoticeDelivery]

    private var raised: [NoticeDelivery] { deliveries.filter { $0.event == .raised } }
    private var resolved: [NoticeDelivery] { deliveries.filter { $0.event == .resolved } }

    /// Whether nothing new is wrong.
    var isGood: Bool { raised.isEmpty }

    /// One line: the only notice, or how many there are.
    var title: String {
        if deliveries.count == 1, let only = deliveries.first {
            return "clarity-jobs: " + NoticeMessage.line(only)
        }
        let parts = [
            raised.isEmpty ? nil : counted(raised.count, "notices"),
            resolved.isEmpty ? nil : "\(resolved.count) resolved",
        ]
        return "clarity-jobs: " + parts.compactMap(\.self).joined(separator: ", ")
    }

    /// A line for each notice.
    var text: String { deliveries.map { NoticeMessage.line($0) + "\n" }.joined() }

    private static func line(_ delivery: NoticeDelivery) -> String {
        let notice = delivery.notice.notice
        return (delivery.event == .resolved ? "over: " : "") + notice.text
    }

    /// The message for programs.
    var json: [UInt8] {
        let object: JSON = [
            "version": 1,
            "notices": .array(
                deliveries.map { delivery in
                    let stored = delivery.notice
                    return [
                        "id": .integer(stored.id), "kind": .string(stored.notice.kind.rawValue),
                        "subject": .string(stored.notice.subject),
                        "event": .string(delivery.event.rawValue),
                        "text": .string(stored.notice.text),
                        "raised_at": .text(stored.raisedAt),
                        "resolved_at": .text(stored.resolvedAt),
                    ]
                }),
        ]
        return object.bytes
    }
}

extension NoticeMessage {
    /// The message of `notify test`.
    static func test(at now: Instant) -> NoticeMessage {
        let notice = Notice(
            .jobFailed, about: "test", "this is a test of `clarity-jobs notify test`")
        return .of([notice], at: now)
    }

    /// A message with notices that are not stored.
    static func of(_ notices: [Notice], at now: Instant) -> NoticeMessage {
        NoticeMessage(
            deliveries: notices.map {
                NoticeDelivery(
                    notice: StoredNotice(id: 0, notice: $0, raisedAt: now), event: .raised)
            })
    }
}
