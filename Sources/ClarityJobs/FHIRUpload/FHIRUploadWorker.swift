import HealthStore
import HealthModel
import Reports
import ClarityScheduler

/// Sends the records of the archive to a FHIR server: what the server has not confirmed yet.
///
/// Each record is a resource under an id of its own (`RecordIDs`), and is put there: a repetition
/// cannot make a second one (FHIR R4, http.html#upsert). What was sent without an answer is looked up
/// before it is sent again.
struct FHIRUploadWorker: KindWorker {
    var changesHealthData: Bool { false }

    func run(_ options: FHIRUploadOptions, _ context: WorkContext) async throws -> Outcome {
        do {
            var upload = try FHIRUpload(options, context)
            return try await upload.run()
        } catch let refusal as FHIRRefusal {
            return refusal.outcome
        }
    }
}

extension FHIRUploadOptions: WorkedOptions {
    static var worker: any KindWorker { FHIRUploadWorker() }

    /// The types that go only where somebody names them: a million points of routes, what a person
    /// is, and what a clinic has.
    private static let unasked: Set<String> = ["ClinicalRecord", "Me", "WorkoutRoutePoint"]

    /// Whether records of a type are sent as Observations.
    fileprivate func sends(_ type: ArchivedType) -> Bool {
        if [KeptFile.clinicalResource, KeptFile.clinicalDocument].contains(type.name) {
            return false
        }
        return !typeNames.isEmpty || !FHIRUploadOptions.unasked.contains(type.name)
    }
}

/// The upload of one attempt.
struct FHIRUpload {
    /// After how many settled records the ledger of a month is written whole; until then only what
    /// was sent.
    private static let portion = 5000
    /// After how many months the list of those that are done is written.
    private static let monthPortion = 50

    private let options: FHIRUploadOptions
    private let context: WorkContext
    private let server: FHIRServer
    private let patient: FHIRPatient
    private let ledger: Publications
    /// The newest generation of each month that the server has as a whole, by the month's name.
    private var done: [String: UInt64]
    private var counts: WorkCounts
    private var types: Set<String> = []
    private var refusals: [String: Int] = [:]

    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws {
        guard let patient = options.patient else {
            throw Failure(.configuration, "`patient` is \(FHIRPatient.form)")
        }
        (self.options, self.context, self.patient) = (options, context, patient)
        server = FHIRServer(options, try FHIRLogin(options, context), context)
        ledger = context.store.publications
        done = try ledger.confirmed(by: context.order.job, at: options.receiver)
        counts = WorkCounts(context)
        counts.add(0, to: "observations_sent")
    }

    /// Sends what there is; fails at the end if the server refused something for what it says, so
    /// that somebody sees it.
    mutating func run() async throws -> Outcome {
        defer { note() }
        let generations = try context.store.archive.generations()
        let wanted = try RecordExport.types(of: context.store, named: options.typeNames)
            .filter(options.sends)
        let months = wanted.flatMap(\.typeMonths).filter { month in
            generations[month].map { done[month.name] != $0 } ?? false
        }
        guard !months.isEmpty else { return .success }
        if !context.isDryRun {
            try await server.check()
            try await server.check(patient)
        }
        var unwritten = 0
        defer { if unwritten > 0 { rememberLate() } }
        for (index, month) in months.enumerated() {
            try context.checkTime()
            context.report(.progress(done: Int64(index), total: Int64(months.count)))
            if try await send(month), let generation = generations[month] {
                done[month.name] = generation
                unwritten += 1
            }
            if unwritten >= Self.monthPortion {
                try remember()
                unwritten = 0
            }
        }
        if unwritten > 0 { try remember() }
        unwritten = 0
        guard !refusals.isEmpty else { return .success }
        defer { refusals = [:] }
        return .failure(Failure(.work, refusalText))
    }

    private func remember() throws(HealthStoreError) {
        guard !context.isDryRun else { return }
        try ledger.confirm(done, by: context.order.job, at: options.receiver)
    }

    /// Remembers the months that were done before an error, which is what the attempt reports.
    private func rememberLate() {
        do throws(HealthStoreError) {
            try remember()
        } catch {
            // The next attempt compares these months again, and sends nothing of them.
            context.note("the months that are done could not be stored: \(error.failure.reason)")
        }
    }

    // MARK: A month

    /// Sends what the server has not of a month; returns whether it has all of it then.
    private mutating func send(_ month: TypeMonth) async throws -> Bool {
        let found = try context.store.archive.records(of: month)
        if found.isDamaged { context.note("\(month.damage), and not sent") }
        var sent = try ledger.sent(of: month, by: context.order.job, to: options.receiver)
        var writer = ObservationWriter(found.sound, of: month.type, in: context.store, patient)
        let ids = writer.ids()
        let open = ids.indices.filter { !sent.isSettled(ids[$0].key) }
        guard !open.isEmpty else { return !found.isDamaged }
        types.insert(ArchivedType.shortName(of: month.type))
        guard !context.isDryRun else {
            counts.add(open.count, to: "observations_sent")
            return false
        }
        // Recorded first, so that nothing is given out that is not in the log.
        let name = "records of \(ArchivedType.shortName(of: month.type))"
        try context.store.audit.record(
            .exported, [name: Int64(open.count)], detail: "to \(options.url), by fhir-upload")
        var rest = try await unsent(open.map { ids[$0].id }, among: &sent, month)
        let places = Dictionary(
            ids.indices.map { (ids[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
        var since = 0
        while !rest.isEmpty {
            try context.checkTime()
            var entries: [FHIREntry] = []
            var size = 0
            for id in rest.prefix(options.bundle) {
                guard let place = places[id] else { continue }
                let resource = writer.observation(found.sound.records[place], under: id)
                size += resource.count
                // A bundle of some megabytes; a single one may be larger.
                guard entries.isEmpty || size <= 1 << 21 else { break }
                entries.append(FHIREntry(id: id, resource: resource))
            }
            rest = rest.dropFirst(entries.count)
            since += entries.count
            try await send(entries, of: month, &sent)
            if since >= Self.portion || rest.isEmpty {
                try keep(&sent, of: month)
                since = 0
            }
        }
        return !found.isDamaged
    }

    /// Looks up what was sent without an answer; returns the ids that the server has not.
    private mutating func unsent(
        _ ids: [String], among sent: inout SentRecords, _ month: TypeMonth
    ) async throws -> ArraySlice<String> {
        let doubtful = ids.filter { sent.doubtful.contains(ObservationWriter.key(of: $0)) }
        guard !doubtful.isEmpty else { return ids[...] }
        let there = try await server.find(doubtful)
        counts.add(there.count, to: "observations_found")
        for id in there { sent.confirmed.insert(ObservationWriter.key(of: id)) }
        try keep(&sent, of: month)
        return ids.filter { !there.contains($0) }[...]
    }

    private func keep(_ sent: inout SentRecords, of month: TypeMonth) throws(HealthStoreError) {
        sent.doubtful = []
        try ledger.keep(sent, of: month, by: context.order.job, to: options.receiver)
    }

    /// Sends a bundle and settles each of its records by its own answer.
    private mutating func send(
        _ entries: [FHIREntry], of month: TypeMonth, _ sent: inout SentRecords
    ) async throws {
        let keys = Set(entries.map { ObservationWriter.key(of: $0.id) })
        sent.doubtful.formUnion(keys)
        try ledger.keepDoubt(
            sent.doubtful, of: month, by: context.order.job, to: options.receiver)
        let answers: [FHIREntryAnswer]
        do {
            answers = try await server.put(entries)
        } catch let refusal as FHIRRefusal {
            if refusal.isTooLarge {
                guard entries.count > 1 else {
                    for key in keys { refuse(key, "too-long", &sent) }
                    return
                }
                let half = entries.count / 2
                try await send(Array(entries[..<half]), of: month, &sent)
                return try await send(Array(entries[half...]), of: month, &sent)
            }
            // What never arrived need not be looked up.
            if !refusal.mayHaveArrived { sent.doubtful.subtract(keys) }
            try settleLate(sent, of: month)
            throw refusal
        }
        var later: FHIRRefusal?
        for (entry, answer) in zip(entries, answers) {
            let key = ObservationWriter.key(of: entry.id)
            // Servers answer all that follows like the first entry that came too fast.
            guard later == nil else {
                sent.doubtful.remove(key)
                continue
            }
            switch answer {
            case .stored:
                sent.confirmed.insert(key)
                counts.add(1, to: "observations_sent")
            case .refused(let code): refuse(key, code, &sent)
            case .unclear: break
            case .later(let refusal):
                later = refusal
                sent.doubtful.remove(key)
            }
        }
        if let later {
            try settleLate(sent, of: month)
            throw later
        }
        // A version conflict, or an entry without an answer.
        let unclear = entries.map(\.id).filter {
            !sent.isSettled(ObservationWriter.key(of: $0))
        }
        guard !unclear.isEmpty else { return }
        let there = try await server.find(unclear)
        for id in there {
            sent.confirmed.insert(ObservationWriter.key(of: id))
            counts.add(1, to: "observations_sent")
        }
        guard there.count == unclear.count else {
            sent.doubtful.subtract(unclear.map { ObservationWriter.key(of: $0) })
            try settleLate(sent, of: month)
            throw FHIRRefusal(
                .unreachable,
                "`\(options.url)` left out \(unclear.count - there.count) of "
                    + "\(counted(entries.count, "Observations")) of a bundle")
        }
    }

    private mutating func refuse(_ key: UInt64, _ code: String, _ sent: inout SentRecords) {
        sent.refused.insert(key)
        refusals[code, default: 0] += 1
        counts.add(1, to: "observations_refused")
    }

    /// Stores what is settled before an attempt ends in the middle of a month. What is in doubt stays
    /// in doubt.
    private func settleLate(_ sent: SentRecords, of month: TypeMonth) throws(HealthStoreError) {
        try ledger.keep(sent, of: month, by: context.order.job, to: options.receiver)
    }

    // MARK: Words

    private var refusalText: String {
        let codes = refusals.sorted { $0.key < $1.key }.map { "`\($0.key)`: \($0.value)" }
        let all = refusals.values.reduce(0, +)
        return "`\(options.url)` refused \(counted(all, "Observations")) for what they say "
            + "(\(codes.joined(separator: ", "))); they are not sent again"
    }

    private func note() {
        // An attempt that ends for another reason says it here: the next one does not meet them.
        if !refusals.isEmpty { context.note(refusalText) }
        let sent = counts["observations_sent"]
        guard sent > 0 else {
            if context.isDryRun { context.note("would send nothing new to `\(options.url)`") }
            return
        }
        let what =
            "\(counted(sent, "Observations")) of \(counted(types.count, "types")) to `\(options.url)`"
        context.note(context.isDryRun ? "would send \(what)" : "sent \(what)")
    }
}
