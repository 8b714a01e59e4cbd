public import HealthStore
import HealthModel
import Backend
import BackendContract
public import Reports
public import ClarityScheduler
import Platform

/// What a person asks about a job's FHIR server: whether it has what was sent, and to delete it.
public struct FHIRReview {
    /// More than so many missing ones are not looked up one by one: then the server lost them all.
    private static let mostLookedUp = 5000

    private let options: FHIRUploadOptions
    private let context: WorkContext
    private let server: FHIRServer
    private let ledger: SentLedger

    /// - Throws: `Failure` for a job of another kind, or without a secret that it names.
    public init(
        _ order: AttemptOrder, _ store: HealthStore, isErasing: Bool, version: String,
        environment: [String: String], clock: any WallClock
    ) throws {
        guard order.kind == .fhirUpload else {
            throw Failure(
                .configuration,
                "job `\(order.job)` is of the kind `\(order.kind)`, not `fhir-upload`")
        }
        var options = try FHIRUploadOptions(order.options)
        options.isErasing = isErasing
        self.options = options
        context = try WorkContext(
            order, store, try CurlTransport(version: version, trust: order.trust()),
            environment: environment, clock: clock, report: { _ in }, isEnding: { false })
        server = try FHIRServer(options, context)
        ledger = SentLedger(store, of: order.job, at: options.receiver)
    }

    // MARK: Verify

    /// A resource that the server confirmed.
    private struct Known {
        let place: Int
        let version: UInt64
    }

    /// Compares what the server has with what it confirmed.
    ///
    /// - Parameters:
    ///   - since: the first month, such as `2026-01`; `nil` for all.
    ///   - settles: whether what was found counts as what was sent from now on.
    public func comparison(since: String?, settles: Bool) async throws -> FHIRComparison {
        do {
            return try await compare(since, settles)
        } catch let refusal as FHIRRefusal {
            throw Failure(refusal.category, refusal.reason)
        }
    }

    private func compare(_ since: String?, _ settles: Bool) async throws -> FHIRComparison {
        let naming = try await server.abilities().naming
        let names = try ledger.parts()
        var parts = names.map { SentPart(name: $0) }
        var known: [FHIRID: Known] = [:]
        var withdrawn: Set<FHIRID> = []
        for index in parts.indices {
            let sent = try ledger.sent(of: parts[index].name)
            parts[index].sent = sent.confirmed.count
            withdrawn.formUnion(sent.withdrawn)
            for (id, version) in sent.confirmed {
                known[id] = Known(place: index, version: version.server)
            }
        }
        var unknown: [FHIRID: FHIRFound] = [:]
        func take(_ found: FHIRFound) {
            guard let one = known.removeValue(forKey: found.id) else {
                if !withdrawn.contains(found.id) { unknown[found.id] = found }
                return
            }
            parts[one.place].found += 1
            if one.version != 0, found.version != 0, one.version != found.version {
                parts[one.place].changed.append(found.id)
            }
        }
        var comparison = FHIRComparison(job: context.order.job.rawValue, url: options.url)
        let patient = try options.knownPatient
        if case .reference = patient {
            var foreign = 0
            try await server.read(of: patient, since: since.map { "\($0)-01" }, naming) { found in
                if let found { take(found) } else { foreign += 1 }
            }
            comparison.foreign = foreign
        }
        // What the search did not show: it is looked up, unless the server lost everything.
        for (type, isOfDevices) in [("Observation", false), ("Device", true)] {
            let rest = known.filter { id, one in
                parts[one.place].isOfDevices == isOfDevices && parts[one.place].isSince(since)
            }.keys
            let isSearched = comparison.foreign != nil && !isOfDevices
            guard !isSearched || rest.count <= FHIRReview.mostLookedUp else { continue }
            for found in try await server.find(rest, type, naming).values { take(found) }
        }
        for (id, one) in known { parts[one.place].missing.append(id) }
        let own = try ownParts(of: Set(unknown.keys))
        let owned = own.values.reduce(0) { $0 + $1.count }
        comparison.unnoted = owned
        comparison.foreign = comparison.foreign.map { $0 + unknown.count - owned }
        comparison.months = parts.filter { $0.isSince(since) }.map(\.comparison)
        if settles {
            try settle(parts.filter { $0.isSince(since) }, own, unknown)
            comparison.isSettled = true
        }
        return comparison
    }

    /// Returns, by the part, those of some ids under which this job sends a resource whose content the
    /// id tells.
    private func ownParts(of ids: Set<FHIRID>) throws -> [String: [FHIRID]] {
        guard !ids.isEmpty else { return [:] }
        var own: [String: [FHIRID]] = [:]
        let content = try FHIRContent(
            of: context.store, try options.knownPatient, options.grain, types: options.typeNames)
        for part in try content.parts() where part.resource == "Observation" {
            let found = try content.portion(of: part).resources.filter {
                $0.version == 0 && ids.contains($0.id)
            }
            if !found.isEmpty { own[part.name] = found.map(\.id) }
        }
        return own
    }

    /// Takes what was found for what was sent.
    private func settle(
        _ parts: [SentPart], _ own: [String: [FHIRID]], _ found: [FHIRID: FHIRFound]
    ) throws {
        var rows: [String: SentResources] = [:]
        var sums = try ledger.sums()
        var done = try ledger.done()
        func change(_ name: String, _ body: (inout SentResources) -> Void) throws {
            var sent = try rows[name] ?? ledger.sent(of: name)
            let type = SentPart(name: name).type
            sums[type, default: SentSums()] -= SentSums(sent)
            body(&sent)
            sums[type, default: SentSums()] += SentSums(sent)
            rows[name] = sent
            done[name] = nil
        }
        for part in parts where !part.missing.isEmpty || !part.changed.isEmpty {
            try change(part.name) { sent in
                for id in part.missing + part.changed { sent.confirmed[id] = nil }
                sent.records = 0
            }
        }
        for (name, ids) in own {
            try change(name) { sent in
                for id in ids {
                    sent.confirm(
                        id,
                        SentResources.Version(content: 0, server: found[id]?.version ?? 0))
                }
            }
        }
        try ledger.keep(done: done)
        try ledger.settle(rows.map { ($0.key, $0.value) }, sums, answered: [])
    }

    // MARK: Erase

    /// Returns what `erase` deletes.
    ///
    /// - Parameters:
    ///   - types: the types, as `HeartRate`; none for all.
    ///   - since: the first month; `nil` for all.
    public func erasure(types: [String], since: String?) throws -> FHIRErasureResult {
        var resources: [String: Int64] = [:]
        for part in try parts(types, since) {
            let sent = try ledger.sent(of: part.name)
            let count = sent.confirmed.count + sent.withdrawn.count
            if count > 0 { resources[part.type, default: 0] += Int64(count) }
        }
        return FHIRErasureResult(
            job: context.order.job.rawValue, url: options.url, resources: resources)
    }

    private func parts(_ types: [String], _ since: String?) throws -> [SentPart] {
        try ledger.parts().map { SentPart(name: $0) }.filter { part in
            // Other Observations may refer to a device.
            let isWanted = part.isOfDevices ? types.isEmpty && since == nil : part.isSince(since)
            return isWanted && (types.isEmpty || types.contains(part.type))
        }
    }

    /// Deletes what the server has of some types and months. A kill loses nothing: the same again
    /// deletes the rest.
    public func erase(
        types: [String], since: String?, _ planned: FHIRErasureResult
    ) async throws -> FHIRErasureResult {
        var result = planned
        do {
            let naming = try await server.abilities().naming
            var book = try FHIRUploadBook(options, context)
            try context.store.audit.record(
                .erased, planned.resources, detail: "at \(options.url), by fhir erase")
            // Devices last: a server may keep what something refers to.
            let parts = try parts(types, since).sorted { !$0.isOfDevices && $1.isOfDevices }
            for (index, part) in parts.enumerated() {
                result.erased += try await erase(part, at: index, naming, &book)
            }
        } catch let refusal as FHIRRefusal {
            throw Failure(refusal.category, refusal.reason)
        }
        result.left = result.total - result.erased
        return result
    }

    private func erase(
        _ part: SentPart, at index: Int, _ naming: FHIRNaming, _ book: inout FHIRUploadBook
    ) async throws -> Int64 {
        let type = part.isOfDevices ? "Device" : "Observation"
        let sent = try ledger.sent(of: part.name)
        var rest = (Array(sent.confirmed.keys) + sent.withdrawn).sorted()[...]
        try book.open(name: part.name, type: part.type, resource: type, at: index)
        defer { book.close(index, isWhole: false) }
        var erased: Int64 = 0
        while !rest.isEmpty {
            let ids = rest.prefix(options.bundle)
            rest = rest.dropFirst(ids.count)
            var bundle = FHIRBundle(of: type, naming)
            var places: [FHIRID: FHIRFound] = [:]
            if case .byServer = naming { places = try await server.find(ids, type, naming) }
            for id in ids {
                book.expect(index)
                if case .byServer = naming, places[id] == nil {
                    book.settle(.delete, id, of: index, .missing)
                    erased += 1
                    continue
                }
                bundle.delete(id, part: index, serverID: places[id]?.serverID ?? id.text)
            }
            if !bundle.entries.isEmpty {
                for (entry, answer) in zip(bundle.entries, try await server.send(bundle)) {
                    switch answer {
                    case .stored(_, let version):
                        book.settle(.delete, entry.id, of: index, .stored(version))
                        erased += 1
                    case .missing:
                        book.settle(.delete, entry.id, of: index, .missing)
                        erased += 1
                    case .refused, .unclear: break
                    case .later(let refusal):
                        _ = try book.write()
                        throw refusal
                    }
                }
            }
            _ = try book.write()
        }
        return erased
    }
}

/// A part of what was sent, and how the server's state compares with it.
private struct SentPart {
    let name: String
    let type: String
    let month: String?
    var sent = 0
    var found = 0
    var missing: [FHIRID] = []
    var changed: [FHIRID] = []

    /// Reads the name of a part, which ends with its month.
    init(name: String) {
        self.name = name
        let words = name.split(separator: " ")
        if words.count > 1, let month = words.last, month.utf8.count >= 7 {
            type = ArchivedType.shortName(of: words.dropLast().joined(separator: " "))
            self.month = String(month)
        } else {
            (type, month) = (name, nil)
        }
    }

    var isOfDevices: Bool { month == nil }

    func isSince(_ since: String?) -> Bool {
        guard let since, let month else { return true }
        return month >= since
    }

    var comparison: FHIRMonthComparison {
        var comparison = FHIRMonthComparison(type: type, month: month)
        (comparison.sent, comparison.found) = (sent, found)
        (comparison.missing, comparison.changed) = (missing.count, changed.count)
        return comparison
    }
}
