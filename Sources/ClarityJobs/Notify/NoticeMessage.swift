import HealthStore
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

    /// A line for each notice, in at most `limit` bytes.
    func text(upTo limit: Int) -> String {
        NoticeMessage.text(of: deliveries.map(NoticeMessage.line), upTo: limit)
    }

    /// Returns whole lines in at most `limit` bytes of UTF-8. The last line says how many are left
    /// out, as `and 240 more`. If not even the first line fits, it is cut between two characters.
    static func text(of lines: [String], upTo limit: Int) -> String {
        guard lines.reduce(0, { $0 + $1.utf8.count + 1 }) > limit else {
            return lines.map { $0 + "\n" }.joined()
        }
        var room = limit - (lines.count > 1 ? "and \(lines.count) more\n".utf8.count : 0)
        var kept: [String] = []
        for var line in lines {
            while kept.isEmpty, line.utf8.count + 1 > room, !line.isEmpty { line.removeLast() }
            room -= line.utf8.count + 1
            guard room >= 0 else { break }
            kept.append(line)
        }
        if kept.count < lines.count { kept.append("and \(lines.count - kept.count) more") }
        return kept.map { $0 + "\n" }.joined()
    }

    private static func line(_ delivery: NoticeDelivery) -> String {
        let notice = delivery.notice.notice
        return (delivery.event == .resolved ? "over: " : "") + notice.text
    }

    /// The message for programs, in at most `limit` bytes: whole notices, and how many are left out.
    func json(upTo limit: Int) -> [UInt8] {
        var notices: [JSON] = []
        // Beside the notices there are some 60 bytes, and a comma for each.
        var room = limit - 100
        for delivery in deliveries {
            let notice = NoticeMessage.object(delivery)
            room -= notice.bytes.count + 1
            guard room >= 0 else { break }
            notices.append(notice)
        }
        let object: JSON = [
            "version": 1, "notices": .array(notices),
            "more": .integer(Int64(deliveries.count - notices.count)),
        ]
        return object.bytes
    }

    private static func object(_ delivery: NoticeDelivery) -> JSON {
        let stored = delivery.notice
        return [
            "id": .integer(stored.id), "kind": .string(stored.notice.kind.rawValue),
            "subject": .string(stored.notice.subject), "event": .string(delivery.event.rawValue),
            "text": .string(stored.notice.text), "raised_at": .text(stored.raisedAt),
            "resolved_at": .text(stored.resolvedAt),
        ]
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
