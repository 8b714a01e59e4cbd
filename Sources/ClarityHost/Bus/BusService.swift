import ClarityScheduler
import Platform

/// The known state of one service on the bus. It decides which requests to send and which messages
/// to trust.
///
/// Requests go only to the connection that owns the service's well-known name, and only messages
/// from that connection count. A question without a reply counts as silent after `patience`; a late
/// reply still counts.
struct BusService: Sendable {
    /// How long an answer may take.
    static let patience = Duration.seconds(2)
    /// How long an answer is used before the next `refreshed` requests it again. Some properties
    /// change without a signal, and a service that hangs sends none.
    static let confirmation = Duration.seconds(60)

    let subscription: BusSubscription
    private var presence = Presence.unreached(reason: "no bus was looked for")
    private var records: [BusObject: Record<BusProperties>] = [:]
    private var listing = Record<[String]>(value: [])
    /// The listed objects as of the last time when all of them had answered.
    private var lastListed: ServiceReading<BusObjects>?
    private var pending: [BusQuestion: Pending] = [:]
    private var lastAsked = Duration.zero

    private enum Presence {
        /// There is no connection to a bus.
        case unreached(reason: String)
        /// The bus was asked for the owner of the service's name.
        case asked
        /// The bus was asked for the owner and does not answer.
        case inDoubt
        case absent
        /// The service runs; the value is the unique name of its connection: `:1.42`.
        case present(String)
    }

    private enum State {
        case asked, answered, silent
        case refused(reason: String)
        /// The object no longer exists.
        case gone
    }

    /// An answer and whether it still counts.
    private struct Record<Value: Sendable>: Sendable {
        var value: Value
        /// When the service last sent the value; `nil` before the first answer.
        var at: Instant?
        var state = State.asked
    }

    private struct Pending {
        var since: Duration
        var isOverdue = false
    }

    init(_ subscription: BusSubscription) { self.subscription = subscription }

    // MARK: Connection

    /// Starts over on a new connection to the bus, and returns the requests to send.
    mutating func connected(at moment: Moment) -> [BusRequest] {
        pending = [:]
        presence = .asked
        lastAsked = moment.elapsed
        return [ask(.owner, of: "org.freedesktop.DBus", at: moment)]
    }

    /// Records that there is no connection to a bus, or not any more.
    mutating func disconnected(reason: String) {
        pending = [:]
        presence = .unreached(reason: reason)
    }

    /// Returns the requests to send again because the answers are `confirmation` old and somebody
    /// needs them.
    mutating func refreshed(at moment: Moment) -> [BusRequest] {
        guard moment.elapsed - lastAsked >= BusService.confirmation else { return [] }
        lastAsked = moment.elapsed
        switch presence {
        case .present(let owner): return askAll(of: owner, at: moment)
        case .asked, .inDoubt: return [ask(.owner, of: "org.freedesktop.DBus", at: moment)]
        case .absent, .unreached: return []
        }
    }

    /// Whether there is a connection to a bus.
    var isReached: Bool { if case .unreached = presence { false } else { true } }

    /// Whether every pending request is overdue, or there is none.
    var isSettled: Bool { pending.values.allSatisfy(\.isOverdue) }

    /// When the next pending request becomes overdue, as elapsed time.
    var nextDeadline: Duration? {
        pending.values.lazy.filter { !$0.isOverdue }.map(\.since).min()
            .map { $0 + BusService.patience }
    }

    /// Marks the requests that got no reply within `patience` as overdue, and their answers as
    /// silent.
    mutating func expired(at moment: Moment) {
        for (question, asked) in pending
        where !asked.isOverdue && moment.elapsed - asked.since >= BusService.patience {
            pending[question]?.isOverdue = true
            fell(silent: question)
        }
    }

    // MARK: Events

    /// Handles an event from the bus, and returns the requests to send next.
    mutating func receive(_ event: BusEvent, at moment: Moment) -> [BusRequest] {
        defer { if case .answered(let reading) = objects() { lastListed = reading } }
        switch event {
        case .owner(subscription.service, let owner):
            return owned(by: owner, at: moment)
        case .reply(let request, let reply) where request.service == subscription.service:
            return answered(request, reply, at: moment)
        case .changed(let sender, let object, let properties, let isComplete)
        where sender == owner:
            return changed(object, properties, isComplete, at: moment)
        case .signal(let sender, let object, let member) where sender == owner:
            guard let list = subscription.list, list.signals.contains(member),
                object == BusObject(path: list.path, interface: list.interface)
            else { return [] }
            return askAnew(.list, at: moment)
        case .owner, .reply, .changed, .signal:
            return []
        }
    }

    /// The connection that requests go to and whose messages are trusted.
    private var owner: String? {
        if case .present(let owner) = presence { owner } else { nil }
    }

    private mutating func owned(by name: String?, at moment: Moment) -> [BusRequest] {
        guard let name, name.hasPrefix(":") else {
            pending = [:]
            presence = .absent
            return []
        }
        guard name != owner else { return [] }
        pending = [:]
        presence = .present(name)
        // The previous owner's answers become the last known values.
        for object in records.keys { records[object]?.state = .asked }
        listing.state = .asked
        lastAsked = moment.elapsed
        return askAll(of: name, at: moment)
    }

    private mutating func answered(
        _ request: BusRequest, _ reply: BusReply, at moment: Moment
    ) -> [BusRequest] {
        if request.question == .owner {
            pending[.owner] = nil
            switch reply {
            case .owner(let name): return owned(by: name, at: moment)
            case .refused("org.freedesktop.DBus.Error.NameHasNoOwner"):
                return owned(by: nil, at: moment)
            default: fell(silent: .owner)
            }
            return []
        }
        guard request.destination == owner else { return [] }
        pending[request.question] = nil
        switch (request.question, reply) {
        case (_, .none): fell(silent: request.question)
        case (_, .refused(let name)): refused(request.question, name)
        case (.properties(let object), .properties(let properties)):
            records[object] = Record(value: properties, at: moment.wall, state: .answered)
        case (.list, .paths(let paths)):
            listing = Record(value: paths, at: moment.wall, state: .answered)
            return listed(paths, at: moment)
        case (.list, .tree(let objects)):
            listing = Record(value: objects.keys.sorted(), at: moment.wall, state: .answered)
            records = records.filter { subscription.objects[$0.key] != nil }
            for (path, interfaces) in objects {
                for (interface, properties) in interfaces {
                    records[BusObject(path: path, interface: interface)] = Record(
                        value: properties, at: moment.wall, state: .answered)
                }
            }
        default: refused(request.question, "an answer of another form")
        }
        return []
    }

    /// Drops the objects that are no longer listed, and requests the properties of those that have
    /// not answered.
    private mutating func listed(_ paths: [String], at moment: Moment) -> [BusRequest] {
        let listed = paths.flatMap(listedObjects)
        let known = Set(listed)
        records = records.filter { subscription.objects[$0.key] != nil || known.contains($0.key) }
        return listed.flatMap { object -> [BusRequest] in
            if case .answered? = records[object]?.state { return [] }
            records[object, default: Record(value: [:])].state = .asked
            return askAnew(.properties(object), at: moment)
        }
    }

    private mutating func changed(
        _ object: BusObject, _ properties: BusProperties, _ isComplete: Bool, at moment: Moment
    ) -> [BusRequest] {
        guard subscription.wanted(at: object) != nil else { return [] }
        let question =
            subscription.objects[object] != nil ? BusQuestion.properties(object) : .list
        guard case .answered? = records[object]?.state, isComplete else {
            return askAnew(question, at: moment)
        }
        if !properties.isEmpty {
            records[object]?.value.merge(properties) { _, new in new }
            records[object]?.at = moment.wall
        }
        return []
    }

    private mutating func fell(silent question: BusQuestion) {
        switch question {
        case .owner:
            if case .asked = presence { presence = .inDoubt }
        case .properties(let object):
            records[object, default: Record(value: [:])].state = .silent
        case .list: listing.state = .silent
        }
    }

    private mutating func refused(_ question: BusQuestion, _ name: String) {
        let reason = printable(name)
        switch question {
        case .owner: break
        case .properties(let object):
            // A listed object may disappear before its properties are requested.
            let isGone =
                subscription.objects[object] == nil
                && name == "org.freedesktop.DBus.Error.UnknownObject"
            records[object, default: Record(value: [:])].state =
                isGone ? .gone : .refused(reason: reason)
        case .list: listing.state = .refused(reason: reason)
        }
    }

    // MARK: Requests

    private mutating func askAll(of owner: String, at moment: Moment) -> [BusRequest] {
        var questions = subscription.objects.keys.map { BusQuestion.properties($0) }
        if subscription.list != nil { questions.append(.list) }
        return questions.map { ask($0, of: owner, at: moment) }
    }

    /// Requests an answer again, unless a request is pending. A pending reply arrives after the
    /// signal, so the service sent it after the change.
    private mutating func askAnew(_ question: BusQuestion, at moment: Moment) -> [BusRequest] {
        if let asked = pending[question], !asked.isOverdue { return [] }
        guard let owner else { return [] }
        return [ask(question, of: owner, at: moment)]
    }

    private mutating func ask(
        _ question: BusQuestion, of destination: String, at moment: Moment
    ) -> BusRequest {
        pending[question] = Pending(since: moment.elapsed)
        return BusRequest(
            service: subscription.service, destination: destination, question: question)
    }

    private func listedObjects(_ path: String) -> [BusObject] {
        guard let list = subscription.list else { return [] }
        return list.wanted.keys.map { BusObject(path: path, interface: $0) }
    }
}

// MARK: Answers

extension BusService {
    /// The properties of an object that always exists.
    func properties(of object: BusObject) -> ServiceAnswer<BusProperties> {
        answer(records[object] ?? Record(value: [:]))
    }

    /// The objects that come and go.
    func objects() -> ServiceAnswer<BusObjects> {
        var all = Record<BusObjects>(
            value: [:], at: listing.at, state: listing.state)
        for path in listing.value {
            for object in listedObjects(path) {
                guard let record = records[object] else { continue }
                if case .gone = record.state { continue }
                all.value[path, default: [:]][object.interface] = record.value
                all.at = all.at.flatMap { at in record.at.map { min(at, $0) } }
                guard case .answered = all.state else { continue }
                all.state = record.state
            }
        }
        // A new object that has not answered yet does not hide what is known about the others.
        if case .answered = all.state { return answer(all) }
        all.value = lastListed?.value ?? [:]
        all.at = lastListed?.at
        return answer(all)
    }

    private func answer<Value>(_ record: Record<Value>) -> ServiceAnswer<Value> {
        let title = subscription.title
        let last = record.at.map { ServiceReading(value: record.value, source: title, at: $0) }
        switch presence {
        // A service that answered before may be back in a moment, as after an upgrade.
        case .unreached(let reason): return .gone(reason, last)
        case .absent: return .gone("\(title) does not run", last)
        case .asked: return .silent(reason: "the system bus has not answered yet", last: last)
        case .inDoubt: return .silent(reason: "the system bus does not answer", last: last)
        case .present: break
        }
        switch record.state {
        case .asked: return .silent(reason: "\(title) has not answered yet", last: last)
        case .silent: return .silent(reason: "\(title) does not answer", last: last)
        case .refused(let reason): return .unknown(reason: "\(title): \(reason)")
        case .gone: return .unknown(reason: "\(title): no such object")
        case .answered:
            guard let last else { return .unknown(reason: "\(title): no such object") }
            return .answered(last)
        }
    }
}
