import HealthStore
import HealthModel
import Reports
import ClarityScheduler

/// Sends the records of the archive to a FHIR server: what the server has not confirmed yet.
///
/// Each resource has an id of its own, and is put under it: a repetition cannot make a second one.
/// What was sent without an answer is looked up before it is sent again.
struct FHIRUploadWorker: KindWorker {
    var changesHealthData: Bool { false }

    func run(_ options: FHIRUploadOptions, _ context: WorkContext) async throws -> Outcome {
        do {
            var upload = try FHIRUpload(options, context)
            return try await upload.run()
        } catch let refusal as FHIRRefusal {
            return refusal.outcome()
        }
    }
}

extension FHIRUploadOptions: WorkedOptions {
    static var worker: any KindWorker { FHIRUploadWorker() }
}

extension FHIRUploadOptions {
    /// The patient, which `declare` has checked.
    var knownPatient: FHIRPatient {
        get throws(Failure) {
            guard let patient else {
                throw Failure(.configuration, "`patient` is \(FHIRPatient.form)")
            }
            return patient
        }
    }
}

/// The upload of one attempt: reads part by part what the server lacks, fills bundles with it, keeps
/// some of them on their way, and writes down what became of each entry.
struct FHIRUpload {
    /// After how many parts of which everything is answered the list of them is written.
    private static let partPortion = 50
    /// How many full bundles are written down together, and then sent.
    private static let bundlePortion = 4
    /// The most bytes of a bundle with more than one entry.
    private static let mostBytes = 2 << 20
    /// The index of the part with the devices.
    private static let devices = -1

    private let options: FHIRUploadOptions
    private let context: WorkContext
    private let server: FHIRServer
    private var content: FHIRContent
    private var naming = FHIRNaming.byClient
    private var book: FHIRUploadBook
    /// The digest of each part of which the server has answered everything.
    private var done: [String: UInt64]
    private var unwritten = 0
    /// How many entries the server takes in a bundle, as far as it showed.
    private var mostEntries: Int
    /// Bundles that are too large for the server as they were.
    private var halves: [FHIRBundle] = []
    /// Why the attempt ends; nothing is sent any more.
    private var end: FHIRRefusal?

    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws {
        (self.options, self.context) = (options, context)
        server = try FHIRServer(options, context)
        content = try FHIRContent(
            of: context.store, try options.knownPatient, options.grain, types: options.typeNames,
            in: try context.zones.dayZone(of: context.store, named: nil))
        book = try FHIRUploadBook(options, context)
        done = try book.ledger.done()
        mostEntries = options.bundle
    }

    /// Sends what there is; fails at the end if the server refused something for what it says, so
    /// that somebody sees it.
    mutating func run() async throws -> Outcome {
        var isFailure = false
        defer { book.note(isFailure: isFailure) }
        // A part brings the devices that it refers to.
        let open = try content.parts().filter {
            $0.resource == "Observation" && done[$0.name] != $0.digest
        }
        let doubtful = try book.ledger.openBundles()
        guard !open.isEmpty || !doubtful.isEmpty else { return .success }
        if !context.isDryRun {
            let abilities = try await server.abilities()
            naming = abilities.naming
            content.refersToDevices = abilities.takesDevices
            try await server.check(try options.knownPatient)
            try await lookUp(doubtful, among: open)
        }
        do {
            try await send(open)
        } catch let refusal as FHIRRefusal {
            return refusal.outcome(hasWorked: book.hasWorked)
        }
        isFailure = book.refusal != nil
        return book.refusal.map { .failure($0) } ?? .success
    }

    /// Sends parts, and writes down what became of them however it ends.
    private mutating func send(_ parts: [FHIRContent.Part]) async throws {
        try book.open(
            name: FHIRContent.devices, type: FHIRContent.devices, resource: "Device",
            at: FHIRUpload.devices)
        try await withThrowingTaskGroup(of: FHIRFlight.self) { flights in
            do {
                for (index, part) in parts.enumerated() where end == nil {
                    try context.checkTime()
                    context.report(.progress(done: Int64(index), total: Int64(parts.count)))
                    try await fill(part, at: index, &flights)
                }
                try await launch(&flights)
            } catch {
                // What is on its way is waited for: it may be answered.
                try await land(&flights, leaving: 0)
                try write(isLast: true)
                throw error
            }
            try await land(&flights, leaving: 0)
            try write(isLast: true)
        }
        if let end { throw end }
    }

    // MARK: From a part to bundles

    private var filling: FHIRBundle?
    private var full: [FHIRBundle] = []
    /// How many bundles are on their way.
    private var inFlight = 0

    private mutating func fill(
        _ part: FHIRContent.Part, at index: Int, _ flights: inout FHIRFlights
    ) async throws {
        var portion = try content.portion(of: part)
        try book.open(part, at: index, records: portion.records)
        if !unsettled(in: portion, index).isEmpty {
            try await send(portion.devices, &flights)
            if portion.devices.count > 0, !content.refersToDevices {
                portion = try content.portion(of: part)
            }
        }
        if let damage = portion.damage { context.note("\(damage), and not sent") }
        // Done only if all that it lacks was sent: an attempt may end in the middle.
        var isWhole = false
        defer { book.close(index, isWhole: isWhole) }
        let ids = portion.resources
        let wanted = unsettled(in: portion, index)
        var untrue: [FHIRID] = []
        if portion.damage == nil, !book[index].confirmed.isEmpty {
            untrue = Set(book[index].confirmed.keys).subtracting(ids.lazy.map(\.id)).sorted()
        }
        guard end == nil else { return }
        guard !wanted.isEmpty || !untrue.isEmpty else {
            isWhole = portion.damage == nil
            return
        }
        try book.audit(
            part.isOfRecords ? "records of \(part.type)" : part.type, wanted.count + untrue.count)
        // A server that chooses the ids has to be asked for those of what it has.
        var known: [FHIRID: FHIRFound] = [:]
        if case .byServer = naming, !context.isDryRun {
            let changed = wanted.map { ids[$0].id }.filter { book[index].confirmed[$0] != nil }
            known = try await server.find(changed + untrue, part.resource, naming)
        }
        for place in wanted where end == nil {
            let (id, version) = ids[place]
            try await add(
                portion.resource(at: place), id, .put(content: version), part.resource, index,
                known[id], &flights)
        }
        for id in untrue where end == nil {
            // What is not there any more needs no word.
            if case .byServer = naming, known[id] == nil {
                book.expect(index)
                book.settle(.withdraw, id, of: index, .missing)
                continue
            }
            try await add(
                content.withdrawal(of: id, from: part), id, .withdraw, part.resource, index,
                known[id], &flights)
        }
        isWhole = portion.damage == nil && end == nil
    }

    private func unsettled(in portion: FHIRContent.Portion, _ index: Int) -> [Int] {
        let sent = book[index]
        return portion.resources.indices.filter { place in
            let (id, version) = portion.resources[place]
            return !sent.isSettled(id, version)
        }
    }

    /// Sends the devices that the server does not have, and waits for the answers: a server may
    /// refuse what refers to one that it does not know. If it does not take them, Observations name
    /// their devices, and refer to none.
    private mutating func send(
        _ devices: [(id: FHIRID, bytes: [UInt8])], _ flights: inout FHIRFlights
    ) async throws {
        let new = devices.filter { !book[FHIRUpload.devices].isSettled($0.id, 0) }
        guard !new.isEmpty else { return }
        try book.audit(FHIRContent.devices, new.count)
        for device in new {
            try await add(
                device.bytes, device.id, .put(content: 0), "Device", FHIRUpload.devices, nil,
                &flights)
        }
        try await launch(&flights)
        try await land(&flights, leaving: 0)
        let there = book[FHIRUpload.devices].confirmed
        guard end == nil, new.contains(where: { there[$0.id] == nil }) else { return }
        content.refersToDevices = false
        context.note("`\(options.url)` takes no Devices; Observations say the names of theirs")
    }

    private mutating func add(
        _ resource: [UInt8], _ id: FHIRID, _ change: FHIRBundle.Change,
        _ type: String, _ index: Int, _ known: FHIRFound?, _ flights: inout FHIRFlights
    ) async throws {
        if let filling,
            filling.entries.count >= mostEntries
                || filling.count + resource.count > FHIRUpload.mostBytes
                || filling.type != type
        {
            full.append(filling)
            self.filling = nil
            if full.count >= FHIRUpload.bundlePortion { try await launch(&flights) }
        }
        book.expect(index)
        if filling == nil { filling = FHIRBundle(of: type, naming) }
        filling?.put(resource, id, change, part: index, serverID: known?.serverID)
    }

    // MARK: From bundles to answers

    /// Sends the bundles that are full and the one that is being filled.
    private mutating func launch(_ flights: inout FHIRFlights) async throws {
        let bundles = full + [filling].compactMap(\.self)
        (full, filling) = ([], nil)
        try await launch(bundles, &flights)
    }

    /// Writes down bundles, and sends each as soon as there is room for it.
    private mutating func launch(
        _ bundles: [FHIRBundle], _ flights: inout FHIRFlights
    ) async throws {
        guard end == nil, !bundles.isEmpty else { return }
        try context.checkTime()
        let numbers = try book.take(bundles)
        for (number, bundle) in zip(numbers, bundles) {
            try await land(&flights, leaving: naming.mostInFlight - 1)
            // What is not sent is not in doubt.
            guard end == nil else {
                book.answered(number)
                continue
            }
            inFlight += 1
            let server = server
            flights.addTask {
                do {
                    return FHIRFlight(
                        number: number, bundle: bundle, .success(try await server.send(bundle)))
                } catch {
                    return FHIRFlight(number: number, bundle: bundle, .failure(error))
                }
            }
        }
    }

    /// Waits for answers until no more than so many bundles are on their way.
    private mutating func land(
        _ flights: inout FHIRFlights, leaving most: Int
    ) async throws {
        while inFlight > most, let flight = try await flights.next() {
            try await settle(flight)
            book.tellCounts()
            while end == nil, let half = halves.popLast() { try await launch([half], &flights) }
            if book.isPortion { try write() }
        }
    }

    private mutating func settle(_ flight: FHIRFlight) async throws {
        inFlight -= 1
        let bundle = flight.bundle
        switch flight.result {
        case .success(let answers):
            var unclear: [FHIRBundle.Entry] = []
            for (entry, answer) in zip(bundle.entries, answers) {
                switch (answer, entry.change) {
                case (.unclear, _): unclear.append(entry)
                case (.missing, .withdraw), (.missing, .delete):
                    book.settle(entry.change, entry.id, of: entry.part, .missing)
                case (.missing(let refusal), .put), (.later(let refusal), _):
                    let isNeeded = bundle.type != "Device" || refusal.isAnotherTime
                    if isNeeded { end = end ?? refusal }
                case (.refused(let code), _):
                    book.settle(entry.change, entry.id, of: entry.part, .refused(code))
                case (.stored(let isNew, let version), _):
                    // An earlier content is there already, and stays until the next attempt.
                    let isOther = bundle.naming == .byServer && !isNew && entry.isNewVersion
                    book.settle(
                        entry.change, entry.id, of: entry.part,
                        isOther ? .otherContent(version) : .stored(version))
                }
            }
            book.answered(flight.number)
            if !unclear.isEmpty { try await lookUp(unclear, of: bundle) }
        case .failure(let refusal as FHIRRefusal) where refusal.isTooLarge:
            book.answered(flight.number)
            guard bundle.entries.count > 1 else {
                let entry = bundle.entries[0]
                return book.settle(entry.change, entry.id, of: entry.part, .refused("too-long"))
            }
            mostEntries = min(mostEntries, (bundle.entries.count + 1) / 2)
            halves += bundle.halves
        case .failure(let refusal as FHIRRefusal)
        where refusal.isForbidden && bundle.type == "Device":
            book.answered(flight.number)
        case .failure(let refusal as FHIRRefusal):
            // What never arrived need not be looked up.
            if !refusal.mayHaveArrived { book.answered(flight.number) }
            end = end ?? refusal
        case .failure(let error): throw error
        }
    }

    /// Looks up entries whose answers say nothing, such as those of a version conflict.
    private mutating func lookUp(
        _ entries: [FHIRBundle.Entry], of bundle: FHIRBundle
    ) async throws {
        let found: [FHIRID: FHIRFound]
        do {
            found = try await server.find(
                entries.map(\.id), bundle.type, bundle.naming, isWhole: true)
        } catch let refusal as FHIRRefusal {
            end = end ?? refusal
            return
        }
        var missing = 0
        for entry in entries {
            guard let there = found[entry.id],
                bundle.says(entry, in: there)
            else {
                missing += 1
                continue
            }
            book.settle(entry.change, entry.id, of: entry.part, .stored(there.version))
        }
        guard missing > 0 else { return }
        end =
            end
            ?? FHIRRefusal(
                .unreachable,
                "`\(options.url)` left out \(missing) of "
                    + "\(counted(bundle.entries.count, "Observations")) of a bundle")
    }

    // MARK: What was in doubt before

    /// Looks up what an earlier attempt sent without an answer.
    private mutating func lookUp(
        _ bundles: [Int: SentBundle], among open: [FHIRContent.Part]
    ) async throws {
        var entries: [String: [SentBundle.Entry]] = [:]
        for bundle in bundles.values {
            for entry in bundle.entries {
                entries[bundle.parts[entry.part], default: []].append(entry)
            }
        }
        if let doubtful = entries[FHIRContent.devices] {
            try book.open(
                name: FHIRContent.devices, type: FHIRContent.devices, resource: "Device",
                at: FHIRUpload.devices)
            for there in try await server.find(doubtful.map(\.id), "Device", naming).values {
                book.expect(FHIRUpload.devices)
                book.settle(
                    .put(content: 0), there.id, of: FHIRUpload.devices, .found(there.version))
            }
        }
        for (index, part) in open.enumerated() {
            guard let doubtful = entries[part.name] else { continue }
            try context.checkTime()
            let found = try await server.find(
                doubtful.map(\.id), part.resource, naming,
                isWhole: doubtful.contains { $0.content != 0 })
            var portion = try content.portion(of: part)
            try book.open(part, at: index, records: portion.records)
            defer { book.close(index, isWhole: false) }
            let places = Dictionary(
                portion.resources.enumerated().map { ($1.id, $0) },
                uniquingKeysWith: { one, _ in one })
            for entry in doubtful {
                guard let there = found[entry.id] else { continue }
                book.expect(index)
                if entry.content == SentBundle.withdrawn {
                    if there.isWithdrawn {
                        book.settle(.withdraw, entry.id, of: index, .stored(there.version))
                    }
                    continue
                }
                if entry.content != 0 {
                    guard let place = places[entry.id],
                        portion.resources[place].version == entry.content,
                        there.says(portion.resource(at: place))
                    else { continue }
                }
                book.settle(
                    .put(content: entry.content), entry.id, of: index, .found(there.version))
            }
        }
        for number in bundles.keys { book.answered(number) }
        // No part is done by this: what was not found is sent below.
        _ = try book.write()
    }

    // MARK: Writing down

    private mutating func write(isLast: Bool = false) throws {
        for (name, digest) in try book.write() {
            done[name] = digest
            unwritten += 1
        }
        guard unwritten >= (isLast ? 1 : FHIRUpload.partPortion) else { return }
        try book.ledger.keep(done: done)
        unwritten = 0
    }
}

typealias FHIRFlights = ThrowingTaskGroup<FHIRFlight, any Error>

/// A bundle that was sent, and what came back.
struct FHIRFlight: Sendable {
    let number: Int
    let bundle: FHIRBundle
    let result: Result<[FHIREntryAnswer], any Error>

    init(number: Int, bundle: FHIRBundle, _ result: Result<[FHIREntryAnswer], any Error>) {
        (self.number, self.bundle, self.result) = (number, bundle, result)
    }
}

extension FHIRBundle.Entry {
    /// Whether it is a content that the id alone does not tell.
    fileprivate var isNewVersion: Bool {
        if case .put(let content) = change { content != 0 } else { false }
    }
}
