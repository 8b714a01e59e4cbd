import ClarityHost
import HealthStore
import HealthModel
import Reports
import ClarityScheduler
import Platform
import Glibc

/// `metrics`, `records`, `insights`, `analyses`, `profile`, `summary` and `archive`: show the data on
/// this machine.
///
/// None of them contacts the backend. They change only the audit log, which records the reading.
struct ReadingCommands: ComposedCommand {
    let composition: Composition

    private var arguments: Arguments { composition.arguments }

    func metrics() throws(CommandFailure) -> ExitStatus {
        let name = try operand("metrics", "type")
        let since = try since() ?? .days(30)
        let until = try until()
        guard let name else {
            for option in ["since", "until"] where arguments[option] != nil {
                throw CommandFailure(.usage, "--\(option) wants a type: `metrics heart_rate`")
            }
            return try show("metrics") { reader throws(HealthStoreError) in try reader.metrics() }
        }
        guard let selection = MetricSelection(named: name) else {
            let suggestion = didYouMean(name, among: MetricSelection.names)
            throw CommandFailure(.usage, "no type `\(name)` of metrics\(suggestion)")
        }
        try checkOrder(since, until)
        return try show("metrics") { reader throws(HealthStoreError) in
            try reader.metrics(selection, since: since, until: until)
        }
    }

    func records() throws(CommandFailure) -> ExitStatus {
        guard let name = try operand("records", "type") else {
            for option in ["by", "since", "until"] where arguments[option] != nil {
                throw CommandFailure(.usage, "--\(option) wants a type: `records HeartRate`")
            }
            return try show("records") { reader throws(HealthStoreError) in
                try reader.recordTypes()
            }
        }
        let period = arguments["by"].flatMap { RecordPeriod(rawValue: $0) } ?? .day
        let since = try since() ?? (period == .month ? nil : HealthReader.Since("30d"))
        let until = try until()
        try checkOrder(since, until)
        let cut = try composition.number("cut", 1...1_000_000_000)
        let file = try composition.jobFile()
        guard let store = try composition.healthStore(file, as: "records") else {
            throw CommandFailure(
                .missingInput, "no health data is kept yet; run `clarity-jobs import FILE`")
        }
        let types = try composition.archivedTypes(of: store, named: [name])
        return try show(
            "records",
            orElse: Self.tooMany
        ) { reader throws(HealthStoreError) in
            try reader.records(types, by: period, since: since, until: until, cut: cut)
        }
    }

    func nights() throws(CommandFailure) -> ExitStatus {
        let (period, since, until) = try span("nights")
        return try show("nights") { reader throws(HealthStoreError) in
            try reader.nights(by: period, since: since, until: until)
        }
    }

    func workouts() throws(CommandFailure) -> ExitStatus {
        let (period, since, until) = try span("workouts")
        return try show("workouts") { reader throws(HealthStoreError) in
            try reader.workouts(by: period, since: since, until: until)
        }
    }

    func trends() throws(CommandFailure) -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`trends` takes no operand")
        }
        let month = try composition.month()
        return try show("trends") { reader throws(HealthStoreError) in
            try reader.trends(of: month)
        }
    }

    func activity() throws(CommandFailure) -> ExitStatus {
        let (period, since, until) = try span("activity")
        return try show("activity") { reader throws(HealthStoreError) in
            try reader.activity(by: period, since: since, until: until)
        }
    }

    func diary() throws(CommandFailure) -> ExitStatus {
        let (_, since, until) = try span("diary")
        return try show("diary", orElse: Self.tooMany) { reader throws(HealthStoreError) in
            try reader.diary(since: since, until: until)
        }
    }

    func electrocardiograms() throws(CommandFailure) -> ExitStatus {
        guard let text = try operand("ecgs", "beginning of an electrocardiogram") else {
            let (since, until) = (try since(), try until())
            try checkOrder(since, until)
            return try show("ecgs") { reader throws(HealthStoreError) in
                try reader.electrocardiograms(since: since, until: until)
            }
        }
        for option in ["since", "until"] where arguments[option] != nil {
            throw CommandFailure(.usage, "--\(option) wants no beginning of an electrocardiogram")
        }
        let start = try PresentTime(
            text: text, option: "the beginning of an electrocardiogram",
            examples: "`2026-11-20T06:00:00Z`, as `ecgs --output json` lists it"
        ).instant { () throws(CommandFailure) in try Composition.localZone(composition.environment)
        }
        return try show("ecgs", orElse: "no electrocardiogram begins at `\(text)`") {
            reader throws(HealthStoreError) in try reader.electrocardiogram(at: start)
        }
    }

    func year() throws(CommandFailure) -> ExitStatus {
        let text = try operand("year", "year")
        let year = try composition.year(text, "`year`")
        return try show("year") { reader throws(HealthStoreError) in try reader.year(year) }
    }

    private static let tooMany =
        "more than \(HealthReader.mostRecords) records; ask for a shorter time, or let "
        + "`export-data` write them"

    /// Returns what a row stands for, and the days; by month all there are, else the last 30.
    private func span(
        _ command: String
    ) throws(CommandFailure) -> (SpanPeriod, HealthReader.Since?, CivilDay?) {
        guard arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`\(command)` takes no operand")
        }
        let period = arguments["by"].flatMap { SpanPeriod(rawValue: $0) } ?? .each
        let (since, until) = (try since(), try until())
        try checkOrder(since, until)
        return (period, since ?? (period == .each ? .days(30) : nil), until)
    }

    func insights() throws(CommandFailure) -> ExitStatus {
        guard let id = try operand("insights", "id") else {
            let (limit, offset) = (try limit(), try offset())
            return try show("insights") { reader throws(HealthStoreError) in
                try reader.insights(limit: limit, offset: offset)
            }
        }
        for option in ["limit", "offset"] where arguments[option] != nil {
            throw CommandFailure(.usage, "--\(option) wants no id of an insight")
        }
        return try show("insights", orElse: "no single insight whose id is or begins with `\(id)`")
        {
            reader throws(HealthStoreError) in try reader.insight(id)
        }
    }

    func analyses() throws(CommandFailure) -> ExitStatus {
        guard let text = try operand("analyses", "number") else {
            let (since, until) = (try since(), try until())
            try checkOrder(since, until)
            return try show("analyses") { reader throws(HealthStoreError) in
                try reader.analyses(since: since, until: until)
            }
        }
        for option in ["since", "until"] where arguments[option] != nil {
            throw CommandFailure(.usage, "--\(option) wants no number of an analysis")
        }
        guard let number = Int64(text), number > 0 else {
            throw CommandFailure(
                .usage, "`analyses` wants the number of one analysis, got `\(text)`")
        }
        return try show("analyses", orElse: "no analysis `\(number)`") {
            reader throws(HealthStoreError) in try reader.analysis(number)
        }
    }

    func profile() throws(CommandFailure) -> ExitStatus {
        let hasBackend = try composition.hasBackend(try composition.jobFile())
        let absence =
            hasBackend
            ? "no profile is kept yet; a `refresh` brings it"
            : "no profile is kept: a server has it, and the job file has no `backend`"
        return try show("profile", orElse: absence) {
            reader throws(HealthStoreError) in try reader.profile()
        }
    }

    func summary() throws(CommandFailure) -> ExitStatus {
        let isAsked = arguments["now"] != nil
        return try show("summary") { reader throws(HealthStoreError) in
            try isAsked ? reader.summary() : reader.newestSummary()
        }
    }

    func archiveList() throws(CommandFailure) -> ExitStatus {
        let type = arguments["type"]
        var since: Instant?
        if let text = arguments["since"] {
            guard let span = Duration(text: text), span > .zero else {
                throw CommandFailure(.usage, "--since is a span such as `7d`, got `\(text)`")
            }
            since = composition.clock.now - span
        }
        return try show("archive") { reader throws(HealthStoreError) in
            try reader.archive(type: type, since: since)
        }
    }

    func archiveShow() throws(CommandFailure) -> ExitStatus {
        guard arguments.operands.count == 1, let number = Int64(arguments.operands[0]), number > 0
        else {
            throw CommandFailure(
                .usage, "`archive show` wants the number of one version, as `archive list` has it")
        }
        return try show("archive", orElse: "no archived version `\(number)`") {
            reader throws(HealthStoreError) in try reader.archived(number)
        }
    }

    private func limit() throws(CommandFailure) -> Int {
        arguments["limit"] == nil
            ? HealthReader.mostInsights : try composition.limit(1...HealthReader.mostInsights)
    }

    private func offset() throws(CommandFailure) -> Int {
        try composition.number("offset", 0...1_000_000) ?? 0
    }

    /// Returns the first day, if one is given.
    private func since() throws(CommandFailure) -> HealthReader.Since? {
        guard let text = arguments["since"] else { return nil }
        guard let since = HealthReader.Since(text) else {
            throw CommandFailure(
                .usage,
                "--since is a span such as `30d` or a date such as `2026-01-31`, got `\(text)`")
        }
        return since
    }

    /// Returns the last day, if one is given.
    private func until() throws(CommandFailure) -> CivilDay? {
        guard let text = arguments["until"] else { return nil }
        guard case .date(let day)? = HealthReader.Since(text) else {
            throw CommandFailure(.usage, "--until is a date such as `2026-01-31`, got `\(text)`")
        }
        return day
    }

    private func checkOrder(
        _ since: HealthReader.Since?, _ until: CivilDay?
    ) throws(CommandFailure) {
        guard case .date(let first) = since, let until, until < first else { return }
        throw CommandFailure(.usage, "--since `\(first)` is later than --until `\(until)`")
    }

    /// Returns the only operand; `nil` if there is none or it is empty.
    private func operand(
        _ command: String, _ what: String
    ) throws(CommandFailure) -> String? {
        guard arguments.operands.count < 2 else {
            throw CommandFailure(
                .usage, "`\(command)` wants one \(what) at most, got \(arguments.operands.count)")
        }
        return arguments.operands.first.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Records the reading and writes the report.
    ///
    /// - Parameter absence: what to say if there is no such report.
    private func show(
        _ part: String, orElse absence: String = "",
        _ read: (HealthReader) throws(HealthStoreError) -> HealthReport?
    ) throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let form = arguments["output"].flatMap { ReportForm(rawValue: $0) } ?? .table
        guard let store = try composition.healthStore(file, as: part) else {
            let remedy = try composition.hasBackend(file) ? "auth login" : "import FILE"
            throw CommandFailure(
                .missingInput, "no health data is kept yet; run `clarity-jobs \(remedy)`")
        }
        let reader = try composition.healthReader(of: store, file, form)
        let found = try usingHealthData { () throws(HealthStoreError) in try read(reader) }
        guard let found else { throw CommandFailure(.missingInput, absence) }
        // Recorded first, so that nothing is shown that is not in the log.
        try usingHealthData { () throws(HealthStoreError) in
            if let session = composition.environment[Composition.pagesSession] {
                let now = SystemClock().now
                try store.audit.recordOnce(
                    .read, found.counts, detail: "shown on a page of session \(session): \(part)",
                    since: now - .milliseconds(now.millisecondsSince1970 % 3_600_000))
                return
            }
            if composition.environment["CLARITY_JOBS_ASSISTANT"] != nil {
                try store.audit.record(
                    .exported, found.counts, detail: "to an assistant: \(part)")
                return
            }
            try store.audit.record(
                form == .table ? .read : .exported, found.counts,
                detail: form == .table ? "shown: \(part)" : "as \(form.rawValue): \(part)")
        }
        composition.console.text(found.text(form))
        guard let damage = found.damageLine else { return .done }
        throw CommandFailure(.failed, damage)
    }
}

extension Composition {
    /// The variable with the name of a browser's session, for which the web pages' server runs this
    /// command. The audit log then has an entry an hour, not one for each look at the page.
    fileprivate static let pagesSession = "CLARITY_JOBS_PAGES_SESSION"

    /// Returns the month that is asked for, if one is.
    func month() throws(CommandFailure) -> CivilMonth? {
        guard let text = arguments["month"] else { return nil }
        guard let month = CivilMonth(text) else {
            throw CommandFailure(.usage, "--month is a month such as `2026-10`, got `\(text)`")
        }
        return month
    }

    /// Returns a year; `nil` without a text.
    ///
    /// - Parameter option: what the text is of, for a message.
    func year(
        _ text: String?, _ option: String
    ) throws(CommandFailure) -> Int? {
        guard let text else { return nil }
        guard text.utf8.count == 4, let year = Int(text), (1900...9998).contains(year) else {
            throw CommandFailure(.usage, "\(option) takes a year such as `2025`, got `\(text)`")
        }
        return year
    }

    /// Returns the time zone that the days of the account follow.
    func dayZone(of store: HealthStore, _ file: JobFile) throws(CommandFailure) -> Zone {
        let zone = try sourceZone(file)
        return try usingHealthData { () throws(HealthStoreError) in
            try SourceZones(environment: environment)
                .dayZone(of: store, named: zone)
        }
    }

    /// Returns a reader of the data as of `--now`.
    func healthReader(
        of store: HealthStore, _ file: JobFile, _ form: ReportForm
    ) throws(CommandFailure) -> HealthReader {
        let zone = try dayZone(of: store, file)
        // Only a date depends on the time zone of the days.
        let date = arguments["now"].flatMap { HealthReader.Since($0)?.isDate == true ? $0 : nil }
        let now =
            date.map { HealthReader.present($0, in: zone, now: SystemClock().now) } ?? clock.now
        return HealthReader(
            store, now: now, zone: zone, style: console.pageStyle, form: form,
            hasBackend: try hasBackend(file))
    }
}
