import HealthStore
import HealthModel
import ClarityScheduler

/// Publishes days and nights to a home's own systems: what its receiver has not confirmed yet.
///
/// Whatever is sent twice changes nothing at the receiver, so an attempt that is killed, or has no
/// answer, leaves the rest to the next one.
struct PublishWorker: KindWorker {
    var changesHealthData: Bool { false }

    func run(_ options: PublishOptions, _ context: WorkContext) async throws -> Outcome {
        do {
            switch options.receiver {
            case .mqtt:
                var receiver = try HomeAssistant(options, context)
                try await receiver.publish()
            case .influx:
                var receiver = try LineProtocolReceiver(options, context)
                try await receiver.publish()
            }
            return .success
        } catch let refusal as PublishRefusal {
            return refusal.outcome
        }
    }
}

extension PublishOptions: WorkedOptions {
    static var worker: any KindWorker { PublishWorker() }
}

/// A receiver that did not take what was sent, and what that means for the attempt.
struct PublishRefusal: Error {
    let outcome: Outcome

    /// Only a receiver that cannot be reached may take the same later.
    init(_ category: Failure.Category, _ reason: String, after wait: Duration? = nil) {
        let failure = Failure(category, reason)
        outcome = category == .unreachable ? .retry(after: wait, failure) : .failure(failure)
    }
}

/// A part of what is published that its receiver confirms as a whole: a day or night in a database,
/// a message of a broker.
struct PublishedPart {
    /// Its name, by which the confirmed parts are known.
    let name: String
    let body: [UInt8]
    /// The number of its rows by type, for the audit log.
    var counts: [String: Int64] = [:]
    /// The day or night that it is about; `nil` for the description of a sensor.
    var day: Int?
    var isNight = false

    var digest: UInt64 { Publications.digest(body) }
}

/// What a job has published until now, and what it publishes in this attempt.
struct Publication {
    /// The receiver's address.
    private let url: String
    /// What tells the receiver from others of the same job.
    private let receiver: String
    private let context: WorkContext
    /// The digests of the parts that the receiver has confirmed, by name.
    private(set) var confirmed: [String: UInt64]
    private var counts: WorkCounts
    private var days: Set<Int> = []
    private var nights: Set<Int> = []
    private var types: Set<String> = []

    /// - Parameter place: where at the address, such as a bucket.
    init(_ url: String, place: String = "", _ context: WorkContext) throws {
        self.url = url
        receiver = "\(url) \(place)"
        self.context = context
        confirmed = try context.store.publications.confirmed(by: context.order.job, at: receiver)
        counts = WorkCounts(context)
        counts.add(0, to: "days_published")
        counts.add(0, to: "nights_published")
    }

    /// Returns the parts that the receiver has not, or not as they are now.
    func changed(_ parts: [PublishedPart]) -> [PublishedPart] {
        parts.filter { confirmed[$0.name] != $0.digest }
    }

    /// Records in the audit log that parts are about to leave this machine. Recorded first, so that
    /// nothing is given out that is not in the log.
    func begin(_ parts: [PublishedPart]) throws {
        guard !context.isDryRun else { return }
        let counts = parts.reduce(into: [:]) { $0.merge($1.counts, uniquingKeysWith: +) }
        guard !counts.isEmpty else { return }
        try context.store.audit.record(.exported, counts, detail: "to \(url), by publish")
    }

    /// Records that the receiver has parts. One without a body is no longer there.
    mutating func confirm(_ parts: [PublishedPart]) throws {
        for part in parts {
            confirmed[part.name] = part.body.isEmpty ? nil : part.digest
            types.formUnion(part.counts.keys)
            guard let day = part.day else { continue }
            if part.isNight {
                if nights.insert(day).inserted { counts.add(1, to: "nights_published") }
            } else if days.insert(day).inserted {
                counts.add(1, to: "days_published")
            }
        }
        guard !context.isDryRun else { return }
        try context.store.publications.confirm(
            confirmed, by: context.order.job, at: receiver)
    }

    /// Notes what was published, or would be.
    func note() {
        let parts = [
            days.isEmpty ? nil : counted(days.count, "days"),
            nights.isEmpty ? nil : counted(nights.count, "nights"),
        ].compactMap(\.self)
        guard !parts.isEmpty else {
            if context.isDryRun { context.note("would publish nothing new to `\(url)`") }
            return
        }
        let what = "\(parts.joined(separator: " and ")) to `\(url)`"
        context.note(
            context.isDryRun
                ? "would publish \(what): \(types.sorted().joined(separator: ", "))"
                : "published \(what)")
    }
}
