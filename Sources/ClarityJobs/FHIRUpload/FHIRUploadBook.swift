import HealthStore
import HealthModel
import Reports
import ClarityScheduler

/// What an attempt knows of what a server has: the ledger, and what is not written there yet.
struct FHIRUploadBook {
    /// After how many answers the ledger is written: after a kill so many are looked up.
    private static let portion = 5000

    /// What became of a change.
    enum Answer {
        /// The server did it; carries the digest of the version.
        case stored(UInt64)
        /// The server had it from before.
        case found(UInt64)
        /// The server has an earlier content.
        case otherContent(UInt64)
        /// The server does not have the resource.
        case missing
        /// The server will never do it; carries the code of its reason.
        case refused(String)
    }

    /// A part under way.
    private final class Page {
        let name: String
        let type: String
        let resource: String
        /// The digest of the part; `nil` if it is only looked at.
        let digest: UInt64?
        let records: Int64
        var sent: SentResources
        /// What the sums have of it.
        var counted: SentSums
        /// How many of its entries are not settled.
        var expected = 0
        var isClosed = false
        var isWhole = true
        var hasChanged = false
        var hasSent = false

        var isDone: Bool { isClosed && isWhole && expected == 0 }

        init(
            _ name: String, _ type: String, _ resource: String, digest: UInt64? = nil,
            records: Int64? = nil, _ sent: SentResources
        ) {
            (self.name, self.type, self.resource, self.digest) = (name, type, resource, digest)
            (self.sent, self.records) = (sent, records ?? sent.records)
            counted = SentSums(sent)
        }
    }

    let ledger: SentLedger

    private let url: String
    private let context: WorkContext
    private var pages: [Int: Page] = [:]
    private var sums: [String: SentSums]
    private var nextNumber = 0
    private var answeredBundles: [Int] = []
    private var unwritten = 0
    private var counts: WorkCounts
    /// What `counts` does not have yet, by what became of it.
    private var uncounted: (observations: [String: Int64], devices: [String: Int64]) = ([:], [:])
    private var types: Set<String> = []
    private var refusals: [String: Int] = [:]

    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws {
        (url, self.context) = (options.url, context)
        ledger = SentLedger(context.store, of: context.order.job, at: options.receiver)
        sums = try ledger.sums()
        nextNumber = (try ledger.openBundles().keys.max() ?? 0) + 1
        counts = WorkCounts(context)
        counts.add(0, to: "observations_sent")
    }

    subscript(index: Int) -> SentResources { pages[index]?.sent ?? SentResources() }

    /// Whether the ledger should be written before more is sent.
    var isPortion: Bool { unwritten >= FHIRUploadBook.portion }

    /// Whether the attempt settled anything.
    var hasWorked: Bool { counts["observations_sent"] + counts["observations_found"] > 0 }

    // MARK: Parts

    mutating func open(
        _ part: FHIRContent.Part, at index: Int, records: Int
    ) throws(HealthStoreError) {
        pages[index] = Page(
            part.name, part.type, part.resource, digest: part.digest, records: Int64(records),
            try ledger.sent(of: part.name))
    }

    /// Opens a part of which nothing is sent any more.
    mutating func open(
        name: String, type: String, resource: String, at index: Int
    ) throws(HealthStoreError) {
        pages[index] = Page(name, type, resource, try ledger.sent(of: name))
    }

    /// No further entry of a part follows.
    ///
    /// - Parameter isWhole: whether the part is done once these are settled.
    mutating func close(_ index: Int, isWhole: Bool) {
        pages[index]?.isClosed = true
        if !isWhole { pages[index]?.isWhole = false }
    }

    /// Records what is given out, before it is.
    func audit(_ name: String, _ count: Int) throws(HealthStoreError) {
        guard !context.isDryRun else { return }
        try context.store.audit.record(
            .exported, [name: Int64(count)], detail: "to \(url), by \(context.order.kind)")
    }

    // MARK: Entries

    /// An entry of a part follows.
    mutating func expect(_ index: Int) { pages[index]?.expected += 1 }

    /// Writes down what is about to be sent; returns the numbers of the bundles.
    mutating func take(_ bundles: [FHIRBundle]) throws(HealthStoreError) -> Range<Int> {
        let numbers = nextNumber..<nextNumber + bundles.count
        nextNumber = numbers.upperBound
        if !context.isDryRun { try ledger.keep(bundles.map(sent), from: numbers.lowerBound) }
        return numbers
    }

    private func sent(_ bundle: FHIRBundle) -> SentBundle {
        var sent = SentBundle()
        sent.entries.reserveCapacity(bundle.entries.count)
        var places: [Int: Int] = [:]
        for entry in bundle.entries {
            guard let page = pages[entry.part] else { continue }
            let place = places[entry.part] ?? sent.parts.count
            if place == sent.parts.count {
                sent.parts.append(page.name)
                places[entry.part] = place
            }
            sent.entries.append(
                SentBundle.Entry(part: place, id: entry.id, content: entry.change.content))
        }
        return sent
    }

    /// Nothing of a bundle is in doubt any more.
    mutating func answered(_ number: Int) { answeredBundles.append(number) }

    mutating func settle(
        _ change: FHIRBundle.Change, _ id: FHIRID, of index: Int, _ answer: Answer
    ) {
        guard let page = pages[index] else { return }
        page.expected -= 1
        page.hasChanged = true
        unwritten += 1
        func confirm(_ content: UInt64, _ server: UInt64, _ what: String) {
            page.sent.confirm(id, SentResources.Version(content: content, server: server))
            count(what, page)
        }
        switch (change, answer) {
        case (.put(let content), .stored(let server)):
            confirm(content, server, "sent")
        case (.put(let content), .found(let server)): confirm(content, server, "found")
        case (.put, .otherContent(let server)):
            confirm(SentBundle.unknown, server, "found")
            page.isWhole = false
        case (.put(let content), .refused(let code)):
            page.sent.refused[id] = content
            refuse(code, page)
        case (.withdraw, .refused(let code)):
            page.sent.withdraw(id)
            refuse(code, page)
        case (.withdraw, _):
            page.sent.withdraw(id)
            count("withdrawn", page)
        case (.delete, .stored), (.delete, .missing):
            page.sent.erase(id)
            count("erased", page)
        case (.delete, .refused(let code)): refuse(code, page)
        case (.delete, _), (.put, .missing): page.isWhole = false
        }
    }

    private mutating func refuse(_ code: String, _ page: Page) {
        refusals[code, default: 0] += 1
        count("refused", page)
    }

    private mutating func count(_ what: String, _ page: Page) {
        let isDevice = page.resource == "Device"
        if isDevice { uncounted.devices[what, default: 0] += 1 }
        if !isDevice { uncounted.observations[what, default: 0] += 1 }
        page.hasSent = page.hasSent || what == "sent"
    }

    /// Reports what was counted: once for a bundle, because each report is a message.
    mutating func tellCounts() {
        for (what, number) in uncounted.observations.sorted(by: { $0.key < $1.key }) {
            counts.add(number, to: "observations_\(what)")
        }
        for (what, number) in uncounted.devices.sorted(by: { $0.key < $1.key }) {
            counts.add(number, to: "devices_\(what)")
        }
        uncounted = ([:], [:])
    }

    // MARK: Writing down

    /// Writes what became of the parts so far; returns those that are done.
    mutating func write() throws(HealthStoreError) -> [(name: String, digest: UInt64)] {
        var rows: [(name: String, sent: SentResources)] = []
        var done: [(name: String, digest: UInt64)] = []
        tellCounts()
        for (index, page) in pages {
            if page.hasSent, page.resource != "Device" { types.insert(page.type) }
            if page.isDone, let digest = page.digest {
                page.hasChanged = page.hasChanged || page.sent.records != page.records
                page.sent.records = page.records
                done.append((page.name, digest))
            }
            if page.hasChanged {
                let now = SentSums(page.sent)
                sums[page.type, default: SentSums()] += now
                sums[page.type, default: SentSums()] -= page.counted
                rows.append((page.name, page.sent))
                (page.counted, page.hasChanged) = (now, false)
            }
            if page.isClosed, page.expected <= 0 { pages[index] = nil }
        }
        if !rows.isEmpty || !answeredBundles.isEmpty {
            try ledger.settle(rows, sums, answered: answeredBundles)
        }
        (answeredBundles, unwritten) = ([], 0)
        return done
    }

    // MARK: Words

    /// Why an attempt that sent everything failed; `nil` if nothing was refused.
    var refusal: Failure? { refusals.isEmpty ? nil : Failure(.work, refusalText) }

    private var refusalText: String {
        let codes = refusals.sorted { $0.key < $1.key }.map { "`\($0.key)`: \($0.value)" }
        let all = refusals.values.reduce(0, +)
        return "`\(url)` refused \(counted(all, "resources")) for what they say "
            + "(\(codes.joined(separator: ", "))); they are not sent again"
    }

    /// Says what was done.
    ///
    /// - Parameter isFailure: whether the attempt's own outcome says what was refused.
    func note(isFailure: Bool) {
        // An attempt that ends for another reason says it here: the next one does not meet them.
        if !refusals.isEmpty, !isFailure { context.note(refusalText) }
        let sent = counts["observations_sent"]
        guard sent > 0 else {
            if context.isDryRun { context.note("would send nothing new to `\(url)`") }
            return
        }
        let what =
            "\(counted(sent, "Observations")) of \(counted(types.count, "types")) to `\(url)`"
        context.note(context.isDryRun ? "would send \(what)" : "sent \(what)")
    }
}

extension SentBundle {
    /// The contents of entries that are no resource.
    static let withdrawn = UInt64.max
    static let deleted = UInt64.max - 1
    /// The content of a resource that the server has from somebody else.
    static let unknown = UInt64.max - 2
}

extension FHIRBundle.Change {
    fileprivate var content: UInt64 {
        switch self {
        case .put(let content): content
        case .withdraw: SentBundle.withdrawn
        case .delete: SentBundle.deleted
        }
    }
}
