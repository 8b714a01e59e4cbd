import ClarityScheduler

/// What is known of one service on the bus: decides what is asked and what is believed.
///
/// Only the connection that has the service's well-known name is asked, and only what it says is
/// believed. A question that is not answered within `patience` makes the service silent; an answer
/// that comes later counts all the same.
struct BusService: Sendable {
    /// How long an answer may take.
    static let patience = Duration.seconds(2)
    /// How long an answer counts without being asked for again, when somebody wants it: some things
    /// change without a signal, and a service that hangs sends none.
    static let confirmation = Duration.seconds(60)

    let interest: BusSubscription
    private var presence = Presence.unreached(reason: "no bus was looked for")
    private var records: [BusObject: Record<BusProperties>] = [:]
    private var listing = Record<[String]>(value: [])
    /// The listed objects when all of them had last answered.
    private var lastListed: Told<BusObjects>?
    private var pending: [BusQuestion: Pending] = [:]
    private var lastAsked = Duration.zero

    private enum Presence {
        /// There is no bus.
        case unreached(reason: String)
        /// The bus was asked whether it runs.
        case asked
        /// The bus was asked, and does not answer.
        case doubtful
        case absent
        /// Its connection's own name: `:1.42`.
        case present(String)
    }

    private enum Standing {
        case asked, told, silent
        case refused(reason: String)
        /// There is no such object any more.
        case gone
    }

    /// One answer with how far it counts.
    private struct Record<Value: Sendable>: Sendable {
        var value: Value
        /// When it was last said; `nil` before the first answer.
        var at: Instant?
        var standing = Standing.asked
    }

    private struct Pending {
        var since: Duration
        var isOverdue = false
    }

    init(_ interest: BusSubscription) { self.interest = interest }

    // MARK: The connection

    /// There is a bus: what to ask it.
    mutating func connected(at moment: Moment) -> [BusRequest] {
        pending = [:]
        presence = .asked
        lastAsked = moment.elapsed
        return [ask(.owner, of: "org.freedesktop.DBus", at: moment)]
    }

    /// There is no bus, or none any more.
    mutating func disconnected(reason: String) {
        pending = [:]
        presence = .unreached(reason: reason)
    }

    /// What to ask again, now that somebody wants to know.
    mutating func refreshed(at moment: Moment) -> [BusRequest] {
        guard moment.elapsed - lastAsked >= BusService.confirmation else { return [] }
        lastAsked = moment.elapsed
        switch presence {
        case .present(let owner): return askAll(of: owner, at: moment)
        case .asked, .doubtful: return [ask(.owner, of: "org.freedesktop.DBus", at: moment)]
        case .absent, .unreached: return []
        }
    }

    /// Whether there is a bus.
    var isReached: Bool { if case .unreached = presence { false } else { true } }

    /// Whether nothing that was asked may still be answered in time.
    var isSettled: Bool { pending.values.allSatisfy(\.isOverdue) }

    /// When patience ends next, as elapsed time.
    var nextDeadline: Duration? {
        pending.values.lazy.filter { !$0.isOverdue }.map(\.since).min()
            .map { $0 + BusService.patience }
    }

    /// Gives up on what has not been answered in time.
    mutating func expired(at moment: Moment) {
        for (question, asked) in pending
        where !asked.isOverdue && moment.elapsed - asked.since >= BusService.patience {
            pending[question]?.isOverdue = true
            fell(silent: question)
        }
    }

    // MARK: Hearing

    /// Takes what came from the bus; what to ask after it.
    mutating func heard(_ event: BusEvent, at moment: Moment) -> [BusRequest] {
        defer { if case .told(let told) = objects() { lastListed = told } }
        switch event {
        case .owner(interest.service, let owner):
            return owned(by: owner, at: moment)
        case .reply(let request, let reply) where request.service == interest.service:
            return answered(request, reply, at: moment)
        case .changed(let sender, let place, let properties, let isComplete)
        where sender == owner:
            return changed(place, properties, isComplete, at: moment)
        case .signal(let sender, let place, let member) where sender == owner:
            guard let list = interest.list, list.signals.contains(member),
                place == BusObject(path: list.path, interface: list.interface)
            else { return [] }
            return askAnew(.list, at: moment)
        case .owner, .reply, .changed, .signal:
            return []
        }
    }

    /// Who is asked, and believed.
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
        // What the one before said is what it said last.
        for place in records.keys { records[place]?.standing = .asked }
        listing.standing = .asked
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
        case (.properties(let place), .properties(let properties)):
            records[place] = Record(value: properties, at: moment.wall, standing: .told)
        case (.list, .paths(let paths)):
            listing = Record(value: paths, at: moment.wall, standing: .told)
            return listed(paths, at: moment)
        case (.list, .tree(let objects)):
            listing = Record(value: objects.keys.sorted(), at: moment.wall, standing: .told)
            records = records.filter { interest.objects[$0.key] != nil }
            for (path, interfaces) in objects {
                for (interface, properties) in interfaces {
                    records[BusObject(path: path, interface: interface)] = Record(
                        value: properties, at: moment.wall, standing: .told)
                }
            }
        default: refused(request.question, "an answer of another form")
        }
        return []
    }

    /// Forgets objects that are not listed any more, and asks those that have not answered.
    private mutating func listed(_ paths: [String], at moment: Moment) -> [BusRequest] {
        let places = paths.flatMap(listedPlaces)
        let known = Set(places)
        records = records.filter { interest.objects[$0.key] != nil || known.contains($0.key) }
        return places.flatMap { place -> [BusRequest] in
            if case .told? = records[place]?.standing { return [] }
            records[place, default: Record(value: [:])].standing = .asked
            return askAnew(.properties(place), at: moment)
        }
    }

    private mutating func changed(
        _ place: BusObject, _ properties: BusProperties, _ isComplete: Bool, at moment: Moment
    ) -> [BusRequest] {
        guard interest.wanted(at: place) != nil else { return [] }
        let question =
            interest.objects[place] != nil ? BusQuestion.properties(place) : .list
        guard case .told? = records[place]?.standing, isComplete else {
            return askAnew(question, at: moment)
        }
        if !properties.isEmpty {
            records[place]?.value.merge(properties) { _, new in new }
            records[place]?.at = moment.wall
        }
        return []
    }

    private mutating func fell(silent question: BusQuestion) {
        switch question {
        case .owner:
            if case .asked = presence { presence = .doubtful }
        case .properties(let place):
            records[place, default: Record(value: [:])].standing = .silent
        case .list: listing.standing = .silent
        }
    }

    private mutating func refused(_ question: BusQuestion, _ name: String) {
        let reason = BusValue.printable(name)
        switch question {
        case .owner: break
        case .properties(let place):
            // An object that was listed may go before it is asked.
            let isGone =
                interest.objects[place] == nil
                && name == "org.freedesktop.DBus.Error.UnknownObject"
            records[place, default: Record(value: [:])].standing =
                isGone ? .gone : .refused(reason: reason)
        case .list: listing.standing = .refused(reason: reason)
        }
    }

    // MARK: Asking

    private mutating func askAll(of owner: String, at moment: Moment) -> [BusRequest] {
        var questions = interest.objects.keys.map { BusQuestion.properties($0) }
        if interest.list != nil { questions.append(.list) }
        return questions.map { ask($0, of: owner, at: moment) }
    }

    /// Asks what changed, unless that is being asked: the answer comes after the signal that says so,
    /// and was given after it.
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
            service: interest.service, destination: destination, question: question)
    }

    private func listedPlaces(_ path: String) -> [BusObject] {
        guard let list = interest.list else { return [] }
        return list.wanted.keys.map { BusObject(path: path, interface: $0) }
    }
}

// MARK: Answers

extension BusService {
    /// What it says of one of the objects that are always there.
    func properties(at path: String, _ interface: String) -> ServiceAnswer<BusProperties> {
        let place = BusObject(path: path, interface: interface)
        return answer(records[place] ?? Record(value: [:]))
    }

    /// What it says of the objects that come and go.
    func objects() -> ServiceAnswer<BusObjects> {
        var all = Record<BusObjects>(
            value: [:], at: listing.at, standing: listing.standing)
        for path in listing.value {
            for place in listedPlaces(path) {
                guard let record = records[place] else { continue }
                if case .gone = record.standing { continue }
                all.value[path, default: [:]][place.interface] = record.value
                all.at = all.at.flatMap { at in record.at.map { min(at, $0) } }
                guard case .told = all.standing else { continue }
                all.standing = record.standing
            }
        }
        // One that came lately and has not answered takes nothing from what is known of the others.
        if case .told = all.standing { return answer(all) }
        all.value = lastListed?.value ?? [:]
        all.at = lastListed?.at
        return answer(all)
    }

    private func answer<Value>(_ record: Record<Value>) -> ServiceAnswer<Value> {
        let title = interest.title
        let last = record.at.map { Told(value: record.value, source: title, at: $0) }
        switch presence {
        // Whoever was heard before may be back in a moment, as after an upgrade.
        case .unreached(let reason): return .gone(reason, last)
        case .absent: return .gone("\(title) does not run", last)
        case .asked: return .silent(reason: "the system bus has not answered yet", last: last)
        case .doubtful: return .silent(reason: "the system bus does not answer", last: last)
        case .present: break
        }
        switch record.standing {
        case .asked: return .silent(reason: "\(title) has not answered yet", last: last)
        case .silent: return .silent(reason: "\(title) does not answer", last: last)
        case .refused(let reason): return .unknown(reason: "\(title): \(reason)")
        case .gone: return .unknown(reason: "\(title): no such object")
        case .told:
            guard let last else { return .unknown(reason: "\(title): no such object") }
            return .told(last)
        }
    }
}
