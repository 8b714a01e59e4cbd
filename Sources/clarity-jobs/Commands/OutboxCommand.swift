import BackendContract
import ClarityHost
import HealthStore
import HealthModel
import Reports
import ClarityScheduler
import Platform
import Glibc

/// `outbox` and its subcommands: shows what is in the outbox and where it came from, and performs a
/// person's actions on it.
struct OutboxCommand: ComposedCommand {
    let composition: Composition

    private var console: Console { composition.console }
    private var arguments: Arguments { composition.arguments }

    func sums() throws(CommandFailure) -> ExitStatus {
        guard arguments.has("all") else { return try ownSums() }
        return try EachAccount(composition).run { own, _ throws(CommandFailure) in
            try OutboxCommand(own).ownSums()
        }
    }

    private func ownSums() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        guard let store = try store(file) else {
            if console.form == .table { console.note("nothing is kept yet") }
            console.results([], OutboxArithmetic())
            return .done
        }
        let sums = try usingHealthData { () throws(HealthStoreError) in
            try store.outbox.arithmetic()
        }
        let forecast = try forecast(store, file)
        console.results(sums.lines + (forecast.map { [$0] } ?? []), sums)
        return sums.isBalanced ? .done : .failed
    }

    func list() throws(CommandFailure) -> ExitStatus {
        let selection = try selection()
        guard let limit = Int(arguments["limit"] ?? "20"), (1...100_000).contains(limit) else {
            throw CommandFailure(.usage, "--limit is a number from 1 to 100000")
        }
        let (entries, total) =
            try usingStore { store throws(HealthStoreError) in
                try store.outbox.entries(selection, limit: limit)
            } ?? ([], 0)
        let packed = try usingStore { store throws(HealthStoreError) in
            try store.outbox.packedCount(selection)
        }
        console.results(entries, lines: entries.map(\.line))
        if console.form == .table, total > Int64(entries.count) {
            console.note("\(total - Int64(entries.count)) more; see --limit")
        }
        if console.form == .table, let packed, packed > 0 {
            console.note(
                "\(packed) more need nothing and are packed; `clarity-jobs metrics` has them")
        }
        return .done
    }

    func show() throws(CommandFailure) -> ExitStatus {
        guard arguments.operands.count == 1, let text = arguments.operands.first, !text.isEmpty
        else {
            throw CommandFailure(
                .usage, "`outbox show` wants one sample, got \(arguments.operands.count)")
        }
        guard let id = Int64(text) else {
            throw CommandFailure(.usage, "`outbox show` wants the number of a sample")
        }
        let withValue = arguments.has("values")
        guard !withValue || isatty(STDOUT_FILENO) == 1 else {
            throw CommandFailure(.usage, "--values shows health data on a terminal alone")
        }
        let sample = try usingStore { store throws(HealthStoreError) in
            try store.outbox.sample(id, withValue: withValue)
        }
        guard let sample = sample ?? nil else {
            throw CommandFailure(.failed, "the outbox has no sample \(id)")
        }
        console.results(sample.lines, sample)
        return .done
    }

    func retry() throws(CommandFailure) -> ExitStatus { try perform(.retry) }

    func discard() throws(CommandFailure) -> ExitStatus { try perform(.discard) }

    /// `outbox erase`, which `clarity-jobs-worker` does, because it links the HTTP client.
    func erase() throws(CommandFailure) -> ExitStatus {
        var selection = OutboxSelection()
        selection.ids = try named("erase")
        guard !selection.isEverything || arguments.has("all") else {
            throw CommandFailure(.usage, "`outbox erase` wants numbers of samples, or --all")
        }
        let file = try composition.jobFile()
        try check(nil, selection, try store(file))
        let ids = selection.ids.map { "\($0)" }.joined(separator: ",")
        try composition.becomeWorker(
            ["erase"] + (ids.isEmpty ? [] : ["--samples", ids])
                + (arguments.has("yes") ? ["--yes"] : []),
            try AuthCommand(composition).order(file), for: file)
    }

    private func perform(_ action: OutboxAction) throws(CommandFailure) -> ExitStatus {
        var selection = try selection()
        selection.ids = try named(action.rawValue)
        guard !selection.isEverything || arguments.has("all") else {
            throw CommandFailure(
                .usage, "`outbox \(action.rawValue)` wants numbers of samples, a filter, or --all")
        }
        let store = try store(try composition.jobFile())
        try check(action, selection, store)
        if store == nil { Console.fault("there is no health data yet") }
        let count =
            try store.map { store throws(CommandFailure) in
                try perform(action, on: selection, of: store)
            } ?? 0
        console.results(
            [action.summary(count, isForgetting: selection.meansDiscarded)],
            action.report.object(count))
        return .done
    }

    /// Returns the numbers of the samples that the person named.
    private func named(_ action: String) throws(CommandFailure) -> [Int64] {
        var ids: [Int64] = []
        for text in arguments.operands {
            guard let id = Int64(text), id > 0 else {
                throw CommandFailure(
                    .usage,
                    "`outbox \(action)` wants numbers of samples, got `\(text)`")
            }
            ids.append(id)
        }
        return ids
    }

    /// Refuses to act unless every sample that the person named exists, and the action can be done
    /// to it.
    private func check(
        _ action: OutboxAction?, _ selection: OutboxSelection, _ store: HealthStore?
    ) throws(CommandFailure) {
        var named = OutboxSelection()
        named.ids = selection.ids
        guard !named.isEverything else { return }
        let entries =
            try store.map { store throws(CommandFailure) in
                try usingHealthData { () throws(HealthStoreError) in
                    try store.outbox.entries(named, limit: named.ids.count).entries
                }
            } ?? []
        for id in named.ids {
            guard let entry = entries.first(where: { $0.id == id }) else {
                throw CommandFailure(.failed, "the outbox has no sample \(id)")
            }
            if let refusal = action?.refusal(of: entry, in: selection) {
                throw CommandFailure(.usage, refusal)
            }
        }
    }

    /// Performs the action once the person agrees, and returns the number of samples.
    private func perform(
        _ action: OutboxAction, on selection: OutboxSelection, of store: HealthStore
    ) throws(CommandFailure) -> Int64 {
        let shares = try usingHealthData { () throws(HealthStoreError) in
            for month in try store.outbox.keptMonths() { try store.outbox.unpackKept(month) }
            return switch action {
            case .retry: try store.outbox.retryShares(selection)
            case .discard: try store.outbox.discardShares(selection)
            }
        }
        guard !shares.isEmpty else {
            let reasons = try usingHealthData { () throws(HealthStoreError) in
                action.reasons(
                    try store.outbox.stateShares(selection),
                    packed: try store.outbox.packedCount(selection))
            }
            reasons.forEach(Console.fault)
            return 0
        }
        if case .retry = action {
            let cost = try usingHealthData { () throws(HealthStoreError) in
                try store.outbox.retryCost(selection)
            }
            OutboxAction.retryWarnings(cost).forEach(Console.fault)
        }
        if !arguments.has("yes") {
            guard let terminal = Terminal() else {
                action.lines(shares).forEach(Console.fault)
                throw CommandFailure(
                    .usage,
                    "there is no terminal to ask on; use --yes to \(action.rawValue) these")
            }
            guard
                terminal.agrees(
                    to: action.question(shares, isForgetting: selection.meansDiscarded))
            else { throw CommandFailure(.failed, "nothing was done") }
        }
        return try usingHealthData { () throws(HealthStoreError) in
            switch action {
            case .retry: try store.outbox.retry(selection)
            case .discard: try store.outbox.discard(selection)
            }
        }
    }

    private func selection() throws(CommandFailure) -> OutboxSelection {
        var selection = OutboxSelection()
        if let name = arguments["in-state"], !name.isEmpty {
            guard let state = OutboxState(name: name) else {
                throw CommandFailure(.usage, "`\(name)` is no state of a sample")
            }
            selection.state = state
        }
        if let name = arguments["type"], !name.isEmpty {
            guard let kind = SampleKind(rawValue: name) else {
                let known = SampleKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(.usage, "there is no type `\(name)`; there are \(known)")
            }
            selection.kind = kind
        }
        if let text = arguments["age"] {
            guard let span = Duration(text: text), span > .zero, span <= .seconds(36_600 * 86_400)
            else {
                throw CommandFailure(.usage, "--age is a span such as `30d`, got `\(text)`")
            }
            selection.before = composition.clock.now - span
        }
        selection.reason = arguments["reason"].flatMap { $0.isEmpty ? nil : $0 }
        return selection
    }

    /// Returns how long the waiting samples take to send; `nil` if that is not worth a line.
    private func forecast(_ store: HealthStore, _ file: JobFile) throws(CommandFailure) -> String? {
        let backend = try composition.backend(file)
        let upload = try file.uploadOptions().first
        return try usingHealthData { () throws(HealthStoreError) in
            let remembered = try store.sessions.dialect(of: backend.url.withoutSlashAtEnd)
            return UploadForecast.line(
                try store.outbox.waiting(), dialects: [backend.dialect, remembered],
                route: upload?.route?.rawValue, batchSize: upload?.batchSize)
        }
    }

    /// Opens the store; without a backend nothing is on its way to one.
    private func store(_ file: JobFile) throws(CommandFailure) -> HealthStore? {
        _ = try composition.backend(file)
        return try composition.healthStore(file, as: "outbox")
    }

    /// Asks the store; `nil` if there is none.
    private func usingStore<Result>(
        _ body: (HealthStore) throws(HealthStoreError) -> Result
    ) throws(CommandFailure) -> Result? {
        guard let store = try store(try composition.jobFile()) else { return nil }
        return try usingHealthData { () throws(HealthStoreError) in try body(store) }
    }
}

extension JobFile {
    /// Returns the options of the jobs that upload, in the order of the file.
    func uploadOptions() throws(CommandFailure) -> [BulkUploadOptions] {
        try jobs.filter { $0.kind == .bulkUpload }.map { job throws(CommandFailure) in
            try readingSections { () throws(Failure) in try BulkUploadOptions(job.options) }
        }
    }
}
