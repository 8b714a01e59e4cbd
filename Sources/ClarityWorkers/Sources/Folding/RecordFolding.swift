import ClarityJobs
import ClarityScheduler

/// Folds records into days, nights and minutes, whatever source they come from.
///
/// It never holds more than about 60 MB, and 15 MB for ten years of three sources: 4 MB to know
/// records again, 200 bytes for each day, source and type, and 16 bytes for each stage of sleep.
struct RecordFolding {
    /// What was made, and what was not.
    struct Outcome: Equatable {
        var days = DayFolding.Outcome()
        var nights = SleepFolding.Outcome()
        var steps: [StepDay] = []
    }

    private let rules: FoldingRules
    private let now: Int64
    private var exportDate: Int64?
    /// What the devices said of each source, by its index.
    private var sorts: [SourceSort?] = []
    private var days: DayFolding
    private var sleep: SleepFolding
    private var minutes: MinuteFolding?

    init(_ rules: FoldingRules, now: Int64) {
        self.rules = rules
        self.now = now
        days = DayFolding(days: LocalDays(zone: rules.zone))
        sleep = SleepFolding(zone: rules.zone)
    }

    /// When the records end: the date of the export, or now when it names none or a later one.
    private var until: Int64 { min(exportDate ?? now, now) }

    /// Whether the records end now, since the export does not say when it was made or lies.
    var endsNow: Bool { exportDate.map { $0 > now } ?? true }

    /// Says when the export was made; the first one counts.
    mutating func setExportDate(_ seconds: Int64) { exportDate = exportDate ?? seconds }

    /// The lane of a type of which days are made; `nil` for any other.
    mutating func lane(_ identifier: String, _ kind: SampleKind) -> Int? {
        ActivityDay.kinds.contains(kind) ? days.lane(identifier, kind) : nil
    }

    /// Whether a device could still change what is known of a source.
    @inline(__always)
    func wantsDevice(of source: Int) -> Bool { source >= sorts.count || sorts[source] != .watch }

    /// Says what a device is through which a source's record came; the best one counts.
    mutating func note(_ sort: SourceSort, of source: Int) {
        while sorts.count <= source { sorts.append(nil) }
        sorts[source] = min(sorts[source] ?? sort, sort)
    }

    /// Takes a record of which a day is made.
    @inline(__always)
    mutating func add(
        _ value: Double, lane: Int, source: Int, start: Int64, end: Int64
    ) -> DayFolding.Verdict {
        let verdict = days.add(value, lane: lane, source: source, start: start, end: end)
        if verdict == .taken, days.lanes[lane] == .steps {
            if minutes == nil { minutes = MinuteFolding(zone: rules.zone, until: until) }
            minutes?.add(value, source: source, start: start, end: end)
        }
        return verdict
    }

    mutating func add(
        _ stage: SleepStage, source: Int, start: Int64, end: Int64
    ) -> SleepFolding.Verdict {
        sleep.add(stage, source: source, start: start, end: end)
    }

    /// Says in which zone the last stage was slept.
    mutating func setZoneOfStage(_ name: String) { sleep.setZone(name, rules.zoneNamed) }

    /// Takes the phone's own totals of a day; those of a day to come do not count.
    mutating func summarise(day: Int, energy: Double?, exercise: Double?) {
        guard Int64(day) <= LocalDays.quotient(LocalDays.clock(at: now, in: rules.zone), 86_400)
        else { return }
        days.summarise(day: day, energy: energy, exercise: exercise)
    }

    /// Hands over the days and then the nights.
    ///
    /// - Parameters:
    ///   - names: of the sources, by index.
    ///   - isWhole: whether all records were there. Of a source that broke off none is handed over: an
    ///     export has one type after the other, so that every day of it could lack some, and would
    ///     replace the better one of an earlier export.
    /// - Throws: what `each` throws.
    mutating func finish(
        names: [String], isWhole: Bool = true, _ each: (Sample, SampleNature) throws -> Void
    ) rethrows -> Outcome {
        let nature = SampleNature.aggregate(asOf: Instant(secondsSince1970: self.until))
        let until = isWhole ? until : .min
        let order = SourceRank.order(names, sorts: sorts, preferred: rules.preferred)
        var outcome = Outcome()
        outcome.days = try days.resolve(order: order, until: until) { day, bounds in
            let sample = Sample(
                kind: .activity, start: Instant(secondsSince1970: bounds.start),
                end: Instant(secondsSince1970: bounds.end), value: .activity(day))
            try each(sample, nature)
        }
        outcome.nights = try sleep.resolve(order: order, until: until) { night in
            let name = names[night.source]
            let sample = Sample(
                kind: .sleep, start: Instant(secondsSince1970: night.start),
                end: Instant(secondsSince1970: night.end), value: .sleep(night.sleep),
                source: name.isEmpty ? nil : name)
            try each(sample, nature)
        }
        if isWhole { outcome.steps = minutes?.resolve(order: order) ?? [] }
        return outcome
    }
}
