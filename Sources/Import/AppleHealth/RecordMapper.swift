import HealthStore
import HealthModel
import ClarityScheduler

/// Makes samples from records, and counts what became of every record. `RecordAggregation` takes
/// the records of days and nights.
struct RecordMapper: ExportHandler {
    /// Stands for types whose identifier is not a plain name, and for those beyond the 1,024 that
    /// are distinguished; no export has a tenth of that.
    static let otherTypes = "(other types)"

    private struct KnownType {
        var identifier: String
        var meaning: HealthKitType?
        /// The samples made from the type; its records if it has no meaning.
        var count: Int64 = 0
        var conversions = InternTable<UnitConversion?>(capacity: 64)
        /// For a type that days are made from.
        var quantity: DayQuantity?
    }

    private struct Interval {
        var start: Int64
        var end: Int64
    }

    /// The most names of sources that are distinguished. Behind them are the indices of all other
    /// sources and of records that name none.
    private static let mostSources = 4096
    private static let otherSources = 4096
    private static let noSource = 4097

    private let now: Int64
    private var aggregation: RecordAggregation
    private var types = InternTable<KnownType>(capacity: 1024)
    private var sources = InternTable<String>(capacity: RecordMapper.mostSources)
    private var sourceCounts = [Int64](repeating: 0, count: RecordMapper.noSource + 1)
    private var devices = InternTable<SourceSort?>(capacity: 1024)
    private var pairing: BloodPressurePairing
    private var archiving: ExportArchiving
    private var workouts = WorkoutMapping()
    private var openCorrelation: (systolic: Reading?, diastolic: Reading?) = (nil, nil)

    /// The counts so far, without those of `types`, `sourceCounts` and `refused`.
    private var report = SourceReport()
    /// Whether the open record is a stage of sleep, whose time zone may follow.
    private var isStageOpen = false
    private var refused: [RecordRefusal: Int64] = [:]

    private typealias Reading = BloodPressurePairing.Reading

    init(
        now: Instant, rules: AggregationRules = AggregationRules(),
        pairing: BloodPressurePairing = BloodPressurePairing(),
        collector: ArchiveCollector = ArchiveCollector()
    ) {
        archiving = ExportArchiving(collector)
        self.now = now.secondsSince1970
        self.pairing = pairing
        aggregation = RecordAggregation(rules, now: now.secondsSince1970)
    }

    var facts: ExportFacts { archiving.facts }

    mutating func exportDate(_ value: Bytes) {
        archiving.exportDate(value)
        if let seconds = Reference.decoded(value, HealthKitDate.seconds) {
            aggregation.setExportDate(seconds)
        }
    }

    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleHandler
    ) throws {
        report.recordsRead += 1
        isStageOpen = false
        let source = sourcePlace(bytes, fields)
        sourceCounts[source] += 1
        let span = archiving.span(bytes, fields)
        let result = interpret(bytes, fields, source, span)
        if archiving.endsElements() { endElements() }
        // A record that cannot be sent is kept all the same if its type and dates can be read.
        let outcome = archiving.add(bytes, fields, span, isOpen: isOpen)
        if case .refused(let refusal) = outcome, case .unmapped = result {
            refused[refusal, default: 0] += 1
            return
        }
        switch result {
        case .unmapped(let place):
            if let place {
                types.values[place].count += 1
            } else {
                report.unmapped[RecordMapper.otherTypes, default: 0] += 1
            }
        case .refused(let refusal): refused[refusal, default: 0] += 1
        case .reading(let reading):
            if !pairing.add(reading) { refused[.tooManyWaiting, default: 0] += 1 }
        case .sample(let sample, let place):
            types.values[place].count += 1
            if case .known = outcome {
                try each(sample, .knownMeasurement)
            } else {
                try each(sample, .measurement)
            }
        case .activity(let value, let interval, let quantity):
            noteDevice(bytes, fields, source)
            count(
                aggregation.add(
                    value, quantity, source: source, start: interval.start, end: interval.end))
        case .stage(let stage, let interval):
            noteDevice(bytes, fields, source)
            let refusal = aggregation.add(
                stage, source: source, start: interval.start, end: interval.end)
            count(stage == .unknown ? refusal ?? .unknownStage : refusal)
            isStageOpen = isOpen && refusal == nil
        }
    }

    /// Counts a record of a day or night as refused, or as taken.
    @inline(__always)
    private mutating func count(_ refusal: RecordRefusal?) {
        if let refusal { refused[refusal, default: 0] += 1 } else { report.aggregated += 1 }
    }

    mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        archiving.metadata(bytes, key: key, value: value)
        guard isStageOpen, bytes.matches("HKTimeZone", key.start, key.end),
            value.end - value.start <= InternTable<String>.longest
        else { return }
        aggregation.setZoneOfStage(Reference.text(bytes.slice(value)))
    }

    mutating func beat(_ bytes: Bytes, rate: ByteRange, time: ByteRange) {
        archiving.beat(bytes, rate: rate, time: time)
    }

    mutating func unknownPart(_ bytes: Bytes, _ attributes: AttributeList) {
        archiving.unknownPart(bytes, attributes)
    }

    mutating func begin(_ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList) {
        archiving.begin(element, bytes, attributes)
    }

    mutating func elementMetadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        archiving.elementMetadata(bytes, key: key, value: value)
    }

    mutating func end(_ element: ExportElement) { archiving.ended(element).map { note($0) } }

    mutating func endElements() { archiving.endedElements().map { note($0) } }

    /// Makes a sample of an element that the archive has taken, if it is a workout; counts one that
    /// nobody knows as a record of a type without a field.
    private mutating func note(_ element: UnplacedRecord) {
        let isWorkout = !element.isUnknown && element.type == "\(ExportElement.workout.name)"
        guard isWorkout || element.isUnknown else { return }
        report.recordsRead += 1
        report.bySource.add(
            to: element.origin.source ?? "(no source)", atMost: 512, else: "(other sources)")
        guard isWorkout else {
            return report.unmapped.add(
                to: element.type, atMost: ExportElement.mostUnknown, else: RecordMapper.otherTypes)
        }
        do throws(RecordRefusal) {
            try workouts.add(element, now: now)
        } catch {
            if error == .inFuture {
                report.note(due: Instant(secondsSince1970: element.record.start))
            }
            refused[error, default: 0] += 1
        }
    }

    mutating func endRecord(_ each: SampleHandler) throws {
        isStageOpen = false
        archiving.endRecord(each)
    }

    mutating func refuse(_ refusal: RecordRefusal) {
        report.recordsRead += 1
        isStageOpen = false
        sourceCounts[RecordMapper.noSource] += 1
        archiving.refuse(refusal)
        refused[refusal, default: 0] += 1
    }

    mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?) {
        report.nestedSkipped += 1
        archiving.nestedRecord(bytes, fields)
        guard let fields else { return }
        let source = sourcePlace(bytes, fields)
        let span = archiving.span(bytes, fields)
        guard case .reading(let reading) = interpret(bytes, fields, source, span) else { return }
        switch reading.half {
        case .systolic: openCorrelation.systolic = openCorrelation.systolic ?? reading
        case .diastolic: openCorrelation.diastolic = openCorrelation.diastolic ?? reading
        }
    }

    mutating func closeCorrelation() {
        // If too many wait, the two halves still find each other by source and start.
        if let systolic = openCorrelation.systolic, let diastolic = openCorrelation.diastolic {
            _ = pairing.correlate(systolic: systolic, diastolic: diastolic)
        }
        openCorrelation = (nil, nil)
    }

    mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields) {
        guard let date = fields.date,
            let day = Reference.decoded(bytes.slice(date), HealthKitDate.day)
        else { return }
        var energy: Double?
        if let number = number(bytes, fields.energy), let unit = fields.energyUnit,
            unit.end - unit.start <= InternTable<String>.longest
        {
            let conversion = UnitConversion(
                from: Reference.text(bytes.slice(unit)), to: .activeEnergy)
            energy = conversion.map { $0(number) }
        }
        aggregation.summarise(
            day: day, energy: energy, exercise: number(bytes, fields.exercise))
    }

    mutating func finish(isWhole: Bool, _ each: SampleHandler) throws {
        archiving.finish(isWhole: isWhole, each)
        archiving.write(to: &report)
        if let count = report.elementsRefused["\(ExportElement.workout.name)"] {
            report.recordsRead += count
            refused[.unreadableWorkout] = count
        }
        if archiving.unknownRefused > 0 {
            report.recordsRead += archiving.unknownRefused
            refused[.unreadableElement] = archiving.unknownRefused
        }
        let counts = try pairing.resolve(each)
        report.pairedPartners = counts.pairs
        report.nestedTaken = counts.takenFromCorrelations
        report.nestedSkipped -= counts.takenFromCorrelations
        if counts.pairs > 0 { report.samplesByKind[.bloodPressure] = counts.pairs }
        if counts.unpaired > 0 { refused[.unpaired] = counts.unpaired }
        let others = RecordMapper.noSource + 1 - sources.values.count
        let outcome = try aggregation.finish(
            names: sources.values + [String](repeating: "", count: others), isWhole: isWhole,
            each)
        report.aggregated -= outcome.copies
        report.repeated = outcome.copies
        report.made = [SampleKind.sleep: outcome.nights.made].filter { $0.value > 0 }
        for workout in workouts.samples {
            let nature = SampleNature.aggregate(asOf: aggregation.asOf)
            report.count(workout, nature)
            try each(workout, nature)
        }
        report.unfinished = [SampleKind.sleep: outcome.nights.unfinished].filter { $0.value > 0 }
        report.days = outcome.days
        report.endsNow = aggregation.endsNow
        // What is not over yet may be when the file is read again.
        if isWhole, aggregation.endsNow {
            let dues = [outcome.nights.dueAt, aggregation.exportDateAhead].compactMap { $0 }
            for due in dues { report.note(due: Instant(secondsSince1970: due)) }
        }
        report.nightsWithoutSleep = outcome.nights.withoutSleep
        report.stepMinutes = outcome.steps
    }

    func write(to report: inout SourceReport) {
        report = self.report
        for type in types.values where type.count > 0 {
            switch type.meaning {
            case .quantity(let kind), .interval(let kind):
                report.samplesByKind[kind, default: 0] += type.count
            case .systolic, .diastolic, .sleepStage: break
            case nil:
                let name = type.identifier.isPlainName() ? type.identifier : RecordMapper.otherTypes
                report.unmapped[name, default: 0] += type.count
            }
        }
        for (refusal, count) in refused { report.refused[refusal.rawValue] = count }
        let names = sources.values.enumerated().map { ($0.offset, $0.element) }
        let others = [
            (RecordMapper.otherSources, "(other sources)"), (RecordMapper.noSource, "(no source)"),
        ]
        for (place, name) in names + others where sourceCounts[place] > 0 {
            report.bySource[name, default: 0] += sourceCounts[place]
        }
    }

    private enum Result {
        /// The index of its type; `nil` for a type that is not distinguished.
        case unmapped(Int?)
        case refused(RecordRefusal)
        case reading(Reading)
        /// A sample, and the index of its type.
        case sample(Sample, Int)
        /// A part of a day: a value and its interval.
        case activity(Double, Interval, DayQuantity)
        /// A part of a night.
        case stage(SleepStage, Interval)
    }

    private mutating func interpret(
        _ bytes: Bytes, _ fields: RecordFields, _ source: Int, _ span: RecordArchiving.Span?
    ) -> Result {
        guard fields.has(.type) else { return .refused(.noType) }
        let place = types.place(of: bytes.slice(fields.type)) {
            let identifier = Reference.text($0)
            var type = KnownType(
                identifier: identifier, meaning: HealthKitType(identifier: identifier))
            if case .quantity(let kind) = type.meaning { type.quantity = DayQuantity(kind) }
            return type
        }
        guard let place, let meaning = types.values[place].meaning else { return .unmapped(place) }
        do throws(RecordRefusal) {
            let interval = try interval(fields, span)
            switch meaning {
            case .sleepStage: return .stage(try stage(bytes, fields), interval)
            case .interval(let kind):
                let minutes = Double(interval.end - interval.start) / 60
                return .sample(sample(kind, interval, minutes, bytes, fields, source), place)
            case .quantity(let kind):
                let value = try value(bytes, fields, place, kind)
                if let quantity = types.values[place].quantity {
                    return .activity(value, interval, quantity)
                }
                return .sample(sample(kind, interval, value, bytes, fields, source), place)
            case .systolic, .diastolic:
                let pressure = try value(bytes, fields, place, .bloodPressure).rounded()
                guard pressure < 1e6 else { throw .badValue }
                return .reading(
                    Reading(
                        half: meaning == .systolic ? .systolic : .diastolic,
                        source: name(source, bytes, fields), start: interval.start,
                        end: interval.end,
                        value: Int(pressure)))
            }
        } catch {
            return .refused(error)
        }
    }

    private mutating func sample(
        _ kind: SampleKind, _ interval: Interval, _ value: Double, _ bytes: Bytes,
        _ fields: RecordFields, _ source: Int
    ) -> Sample {
        Sample(
            kind: kind, start: Instant(secondsSince1970: interval.start),
            end: Instant(secondsSince1970: interval.end), value: .single(value),
            source: name(source, bytes, fields))
    }

    private mutating func noteDevice(_ bytes: Bytes, _ fields: RecordFields, _ source: Int) {
        guard fields.has(.device), aggregation.wantsDevice(of: source) else { return }
        let device = bytes.slice(fields.device)
        guard device.count <= 4096 else { return }
        let place = devices.place(of: device) { SourceSort.of(device: Reference.text($0)) }
        let sort =
            place.map { devices.values[$0] } ?? SourceSort.of(device: Reference.text(device))
        if let sort { aggregation.note(sort, of: source) }
    }

    private func stage(_ bytes: Bytes, _ fields: RecordFields) throws(RecordRefusal) -> SleepStage {
        guard fields.hasValue else { throw .noValue }
        guard fields.value.end - fields.value.start <= InternTable<String>.longest else {
            return .unknown
        }
        return SleepStage(healthKitValue: Reference.text(bytes.slice(fields.value))) ?? .unknown
    }

    /// Returns the index of the record's source; `otherSources` or `noSource` if it has none of its
    /// own.
    @inline(__always)
    private mutating func sourcePlace(_ bytes: Bytes, _ fields: RecordFields) -> Int {
        guard fields.hasSource else { return RecordMapper.noSource }
        let place = sources.place(of: nameBytes(bytes, fields)) { Reference.text($0) }
        return place ?? RecordMapper.otherSources
    }

    private func name(_ place: Int, _ bytes: Bytes, _ fields: RecordFields) -> String? {
        if place < sources.values.count { return sources.values[place] }
        return place == RecordMapper.noSource ? nil : Reference.text(nameBytes(bytes, fields))
    }

    /// Returns the name of the source, truncated: otherwise a hostile file could make the waiting
    /// blood pressures hold any amount of names.
    @inline(__always)
    private func nameBytes(_ bytes: Bytes, _ fields: RecordFields) -> Bytes {
        Bytes(rebasing: bytes.slice(fields.source).prefix(InternTable<String>.longest))
    }

    private mutating func interval(
        _ fields: RecordFields, _ span: RecordArchiving.Span?
    ) throws(RecordRefusal) -> Interval {
        guard fields.has(.start), fields.has(.end) else { throw .noDate }
        guard let span else { throw .badDate }
        let (start, end) = (span.start.seconds, span.end.seconds)
        guard start <= end else { throw .endBeforeStart }
        guard start <= now else {
            report.note(due: Instant(secondsSince1970: start))
            throw .inFuture
        }
        return Interval(start: start, end: end)
    }

    /// Returns the number in an attribute; `nil` if the attribute is missing or not a number.
    private func number(_ bytes: Bytes, _ range: ByteRange?) -> Double? {
        range.flatMap { Reference.decoded(bytes.slice($0), DecimalNumber.parse) }
    }

    private mutating func value(
        _ bytes: Bytes, _ fields: RecordFields, _ type: Int, _ kind: SampleKind
    ) throws(RecordRefusal) -> Double {
        guard fields.hasValue else { throw .noValue }
        guard let number = Reference.decoded(bytes.slice(fields.value), DecimalNumber.parse) else {
            throw .badValue
        }
        // No kind can be negative; adding zero below turns a negative zero into zero.
        guard number >= 0 else { throw .negativeValue }
        guard fields.has(.unit) else { throw .noUnit }
        let unit = bytes.slice(fields.unit)
        let known = types.values[type].conversions.place(of: unit) {
            UnitConversion(from: Reference.text($0), to: kind)
        }
        guard let known, let conversion = types.values[type].conversions.values[known] else {
            throw .unknownUnit
        }
        let value = conversion(number) + 0
        guard value.isFinite else { throw .badValue }
        return value
    }
}
