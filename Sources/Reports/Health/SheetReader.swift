public import HealthStore
public import HealthModel
public import ClarityScheduler
import JSON

/// Reads the data on this machine for people and programs, and never contacts a backend.
public struct SheetReader {
    let store: HealthStore
    let now: Instant
    /// The time zone of the days.
    let zone: Zone
    let style: PageStyle
    /// The form to produce. Lines for people that are costly are made for `table` only.
    let form: SheetForm

    /// Creates a reader as of `now`.
    public init(
        _ store: HealthStore, now: Instant, zone: Zone, style: PageStyle, form: SheetForm = .table
    ) {
        self.form = form
        self.store = store
        self.now = now
        self.zone = zone
        self.style = style
    }

    /// Returns the instant as of which to read.
    ///
    /// - Parameters:
    ///   - text: an instant in RFC 3339, or a date. A date means the end of that day, or `now` if
    ///     that day is today. Anything else means `now`.
    ///   - zone: the time zone of the days.
    public static func present(_ text: String?, in zone: Zone, now: Instant) -> Instant {
        guard let text else { return now }
        if let instant = Instant(rfc3339: text) { return instant }
        guard case .date(let date)? = Since(text) else { return now }
        var days = LocalDays(zone: zone)
        let day = days.day(date.daysSince1970)
        let isToday = (day.start..<day.end).contains(now.secondsSince1970)
        return isToday ? now : Instant(millisecondsSince1970: day.end * 1000 - 1)
    }

    /// The first day to read.
    public enum Since: Hashable, Sendable {
        /// The number of days, including today.
        case days(Int)
        /// A date.
        case date(CivilDay)

        /// Whether it is a date.
        public var isDate: Bool { if case .date = self { true } else { false } }

        /// Parses a span such as `30d`, or a date such as `2026-01-31`; `nil` for anything else,
        /// and for a span of more than 100 years.
        public init?(_ text: String) {
            if let span = Duration(text: text), span > .zero {
                let seconds = span.components.seconds
                self = .days(max(1, Int((seconds + 86_399) / 86_400)))
            } else if text.utf8.count == 10, let start = Instant(rfc3339: "\(text)T00:00:00Z") {
                self = .date(CivilDay(daysSince1970: Int(start.secondsSince1970 / 86_400)))
            } else {
                return nil
            }
        }
    }

    /// Reads the metrics of a group. The numbers of rows that an earlier version stored are
    /// extracted on the way.
    func metrics(
        _ group: MetricGroup, in span: Range<Instant>, _ sheet: inout Sheet,
        each: (MetricRecord) -> Void
    ) throws(HealthStoreError) {
        var count: Int64 = 0
        sheet.damaged += try store.cache.readMetrics(
            group, in: span,
            flatten: { MetricNumbers(row: $0.json, type: $0.type) },
            each: { record in
                count += 1
                each(record)
            })
        if count > 0 { sheet.counts[group.rawValue, default: 0] += count }
    }

    /// Returns when metrics were last synced and when sources were last read.
    func freshness() throws(HealthStoreError) -> (synced: Instant?, read: Instant?) {
        (try store.cache.pullRecord(of: .metrics).endedAt, try store.outbox.lastSourceReading())
    }

    /// Returns lines for people about both times.
    func lines(of freshness: (synced: Instant?, read: Instant?)) -> [String] {
        var lines = [line("synced", freshness.synced)]
        if freshness.read != nil { lines.append(line("sources read", freshness.read)) }
        return lines
    }

    /// Returns `synced 3 h ago (2026-11-21T06:00:00Z)`, as a warning if that is stale.
    func line(_ word: String, _ instant: Instant?) -> String {
        let line = AsOf.fullText(word, instant, at: now)
        return AsOf.isStale(instant, at: now)
            ? style.warning(line) : DisplayText.cut(line, to: style.width)
    }
}
