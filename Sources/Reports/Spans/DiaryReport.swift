public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

// What a person noted or was told: symptoms, medications, moods, the cycle and notifications.
extension HealthReader {
    /// Returns the entries that begin on days, the latest first; `nil` if there are too many.
    ///
    /// - Parameters:
    ///   - since: the first day; a number of days counts back from the last one, and `nil` is the
    ///     first day that has an entry.
    ///   - until: the last day; `nil` for that of the newest entry.
    public func diary(since: Since?, until: CivilDay?) throws(HealthStoreError) -> HealthReport? {
        var report = HealthReport()
        var local = LocalDays(zone: zone)
        let today = local.day(at: now.secondsSince1970).number
        let kinds = try store.archive.stocks(in: zone).stocks.compactMap { stock in
            DiaryKind(of: stock.type.name).map { (stock: stock, kind: $0) }
        }
        let newest = kinds.map(\.stock.last).max().map { min(today, local.day(at: $0).number) }
        let oldest = kinds.map(\.stock.first).min().map { local.day(at: $0).number }
        let last = until?.daysSince1970 ?? newest ?? today
        let first = since?.first(upTo: last) ?? min(oldest ?? last, last)
        let span = local.day(first).start..<local.day(last).end
        var entries: [DiaryEntry] = []
        for (stock, kind) in kinds {
            var rows: [RecordRow] = []
            guard try read(stock.type, by: .raw, in: span, &rows, &report) else { return nil }
            if !rows.isEmpty {
                report.counts["records of \(stock.type.shortName)"] = Int64(rows.count)
            }
            entries += rows.map { DiaryEntry($0, kind, zone) }
        }
        entries.sort { ($0.at, $0.title) > ($1.at, $1.title) }
        report.list(
            entries, DiaryEntry.report, style,
            absence: "no symptom, medication, mood, cycle or notification is kept of these days")
        report.page =
            DiaryResult(
                since: first, until: last, newest: newest ?? today, timeZone: zone.identifier,
                damaged: report.damaged.count, rows: report.records
            ).json
        return report
    }
}

/// What an entry of the diary is about.
enum DiaryKind: String, CaseIterable {
    case symptom, medication, mood, cycle, notification

    /// The types of records of each, without what HealthKit puts in front of them. The sections of
    /// Health Auto Export are among them.
    private static let types: [DiaryKind: Set<String>] = [
        .symptom: [
            "AbdominalCramps", "Acne", "AppetiteChanges", "BladderIncontinence", "Bloating",
            "BreastPain", "ChestTightnessOrPain", "Chills", "Constipation", "Coughing", "Diarrhea",
            "Dizziness", "DrySkin", "Fainting", "Fatigue", "Fever", "GeneralizedBodyAche",
            "HairLoss", "Headache", "Heartburn", "HotFlashes", "LossOfSmell", "LossOfTaste",
            "LowerBackPain", "MemoryLapse", "MoodChanges", "Nausea", "NightSweats", "PelvicPain",
            "RapidPoundingOrFlutteringHeartbeat", "RunnyNose", "ShortnessOfBreath",
            "SinusCongestion", "SkippedHeartbeat", "SleepChanges", "SoreThroat", "VaginalDryness",
            "Vomiting", "Wheezing", "symptoms",
        ],
        .medication: ["MedicationDoseEvent", "medications"],
        .mood: ["StateOfMind", "stateOfMind"],
        .cycle: [
            "BleedingAfterPregnancy", "BleedingDuringPregnancy", "CervicalMucusQuality",
            "Contraceptive", "InfrequentMenstrualCycles", "IntermenstrualBleeding",
            "IrregularMenstrualCycles", "Lactation", "MenstrualFlow", "OvulationTestResult",
            "PersistentIntermenstrualBleeding", "Pregnancy", "PregnancyTestResult",
            "ProgesteroneTestResult", "ProlongedMenstrualPeriods", "SexualActivity",
            "cycleTracking",
        ],
        .notification: [
            "AppleWalkingSteadinessEvent", "AudioExposureEvent", "EnvironmentalAudioExposureEvent",
            "HeadphoneAudioExposureEvent", "HighHeartRateEvent", "HypertensionEvent",
            "IrregularHeartRhythmEvent", "LowCardioFitnessEvent", "LowHeartRateEvent",
            "SleepApneaEvent", "heartRateNotifications",
        ],
    ]

    /// Returns the kind of a type of records; `nil` for one that is not in the diary.
    init?(of type: String) {
        let name = ArchivedType.shortName(of: type)
        guard let kind = DiaryKind.types.first(where: { $0.value.contains(name) })?.key else {
            return nil
        }
        self = kind
    }
}

/// An entry of the diary: what it is, and what it says, in words.
package struct DiaryEntry: Reported, PrivateValue {
    private let kind: DiaryKind
    let at: Int64
    private let end: Int64
    /// Such as `Headache`, or the name of a medication.
    let title: String
    /// Such as `mild`, `skipped` or `pleasant`; as its source has it, if that is in another language.
    private let value: String?
    /// What else its source says of it, such as a dose.
    private let details: String?
    private let source: String?
    private let zone: Zone

    init(_ row: RecordRow, _ kind: DiaryKind, _ zone: Zone) {
        func text(_ names: String...) -> String? {
            for name in names {
                if let text = row.metadata?[name]?.text, !text.isEmpty { return text }
            }
            return nil
        }
        (self.kind, self.zone) = (kind, zone)
        (at, end, source) = (row.at, max(row.at, row.end), row.source)
        let name = text("displayText", "nickname", "name", "medication")
        switch kind {
        case .medication:
            title = name ?? "A medication"
            value = text("logStatus", "status").map(Self.words)
            let unit = text("unit", "form")
            details =
                [text("dosage", "doseQuantity", "quantity"), unit].compactMap(\.self)
                .joined(separator: " ").presence
        case .mood:
            title = text("kind").map(wordsOfName) ?? "State of mind"
            value = text("valence").flatMap(Double.init).map(Self.valence)
            let lists = ["labels", "Label", "associations", "Association"]
            details =
                lists.flatMap { Self.list(row.metadata?[$0]?.text) }
                .joined(separator: ", ").presence
        case .symptom, .cycle, .notification:
            let type = row.type.shortName
            let isSection = type.first?.isLowercase ?? false
            title = isSection ? name ?? wordsOfName(type) : wordsOfName(type)
            value = (row.value ?? text("severity", "value")).flatMap(Self.value)
            details = text("threshold", "HKHeartRateEventThreshold").map { "threshold \($0)" }
        }
    }

    /// Returns a value of HealthKit as words, such as `mild`; `nil` for one that says nothing.
    private static func value(_ written: String) -> String? {
        guard written != "HKCategoryValueNotApplicable" else { return nil }
        var word = written[...]
        for prefix in ["HKCategoryValue"] + prefixes where word.hasPrefix(prefix) {
            if word.count > prefix.count { word = word.dropFirst(prefix.count) }
        }
        return words(String(word))
    }

    /// The names of HealthKit's lists of values, the longer ones first.
    private static let prefixes = [
        "AppleWalkingSteadinessEvent", "EnvironmentalAudioExposureEvent",
        "HeadphoneAudioExposureEvent", "LowCardioFitnessEvent", "ProgesteroneTestResult",
        "CervicalMucusQuality", "OvulationTestResult", "PregnancyTestResult", "VaginalBleeding",
        "AppetiteChanges", "Contraceptive", "MenstrualFlow", "Presence", "Severity",
    ]

    private static func words(_ text: String) -> String {
        text.contains(" ") ? text : wordsOfName(text).lowercased()
    }

    private static func valence(_ value: Double) -> String {
        value > 0 ? "pleasant" : value < 0 ? "unpleasant" : "neutral"
    }

    /// Returns the words of a JSON list of texts, or of objects with names.
    private static func list(_ written: String?) -> [String] {
        guard let written else { return [] }
        do throws(JSONFault) {
            guard case .array(let list) = try JSONParser.parse(Array(written.utf8)) else {
                return [written]
            }
            return list.compactMap { $0.text ?? $0["name"]?.text ?? $0["value"]?.text }.map(words)
        } catch {
            return [written]
        }
    }

    package static let report = Report<DiaryEntry>([
        Column("start", "when it begins") { Instant(secondsSince1970: $0.at) }
            .shown("WHEN") {
                LocalDates(zone: $0.zone).fullMoment(Instant(secondsSince1970: $0.at))
            }.csv(),
        Column("end", "when it ends") { Instant(secondsSince1970: $0.end) }.csv(),
        Column("kind", "`symptom`, `medication`, `mood`, `cycle` or `notification`") {
            $0.kind.rawValue
        }.shown("KIND").csv(),
        Column("title", "what it is, such as a symptom or a medication, for people") { $0.title }
            .shown("WHAT") { DisplayText.line($0.title) }.csv(),
        Column("value", "what it says, such as `mild` or `skipped`") { $0.value }
            .shown("VALUE") { DisplayText.line($0.value ?? "-") }.csv(),
        Column("details", "what else its source says, such as a dose") { $0.details }
            .shown("DETAILS") { DisplayText.line($0.details ?? "-") }.csv(),
        Column("source", "its source") { $0.source }.csv(),
    ])
}

/// The result of `diary`.
package struct DiaryResult: Reported, PrivateValue {
    let since: Int
    let until: Int
    let newest: Int
    let timeZone: String
    let damaged: Int
    let rows: [JSON]

    package static let report = Report<DiaryResult>([
        Column("since", "the first day") { CivilDay(daysSince1970: $0.since) },
        Column("until", "the last day") { CivilDay(daysSince1970: $0.until) },
        Column("newest", "the day of the newest entry; today if there is none") {
            CivilDay(daysSince1970: $0.newest)
        },
        Column("time_zone", "the time zone of days") { $0.timeZone },
        Column("damaged", "number of months with damaged records, which are left out") {
            $0.damaged
        },
        Column("rows", "the entries, the latest first", as: { .list(DiaryEntry.valueType) }) {
            .array($0.rows)
        },
    ])
}

extension String {
    /// The text; `nil` if it is empty.
    fileprivate var presence: String? { isEmpty ? nil : self }
}
