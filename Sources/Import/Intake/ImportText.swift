import HealthStore
import HealthModel
import ClarityScheduler
import Platform
public import JSON

// The result of an import, for people and for programs. Both contain the names of sources only on
// request, because those are for the person at the terminal.

extension ImportAccount {
    /// One line for people.
    public var summary: String {
        if unchanged == files, let unchangedSince {
            let what = hasOtherBytes ? "the same records were" : "unchanged since it was"
            return "`\(name)`: \(what) read at \(unchangedSince)".forReport
        }
        var parts = [
            (enqueued.queued, "queued"), (enqueued.duplicates, "known"),
            (report.pairedPartners, "paired"), (report.folded, "folded"),
            (report.repeated, "repeated"),
            (report.unmapped.values.reduce(0, +), "kept here"),
            (report.refused.values.reduce(0, +), "refused"),
            (enqueued.beforeSince, "before the time asked for"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if parts.isEmpty { parts = ["nothing in it"] }
        let records = report.recordsRead + report.nestedTaken
        var text = "`\(name)`: \(counted(records, "records")) read"
        if files > 1 { text += " from \(files) files" }
        text += ": \(parts.joined(separator: ", "))"
        let metrics = [
            (enqueued.metricsQueued, "queued"), (enqueued.metricsKnown, "known"),
            (enqueued.replaced, "replaced"), (enqueued.corrected, "corrected"),
            (enqueued.keptAsSent, "kept as they were sent"), (enqueued.metricsRefused, "refused"),
            (enqueued.metricsBeforeSince, "before the time asked for"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if !metrics.isEmpty {
            text += "; days, nights, sums and workouts: \(metrics.joined(separator: ", "))"
        }
        // A text that breaks off makes no day; the complaint says so.
        let unfinished = report.unfinished.values.reduce(0, +)
        if unfinished > 0, report.brokeAt == nil { text += "; \(unfinished) not over yet" }
        if report.archived.pruned > 0 {
            text += "; \(counted(report.archived.pruned, "records")) of removed months not kept"
        }
        if unchanged > 0 { text += "; \(counted(unchanged, "files")) unchanged" }
        if report.made[.activity] != nil || report.unfinished[.activity] != nil {
            text += "; \(zoneLine)"
        }
        return text.forReport
    }

    private var zoneLine: String { "days follow \(timeZone)" }

    /// Why the file was not imported as a whole; `nil` if it was.
    public var complaint: String? {
        if let problem {
            let others = unread > 1 ? "; \(unread - 1) more could not be read" : ""
            return (problem + others).forReport
        }
        if let broken = report.brokeAt {
            return
                ("`\(name)` breaks off at byte \(broken.byteOffset) of its text: "
                + "\(broken.reason); what was read before it is kept").forReport
        }
        guard faultCount > 0 else { return nil }
        return "`\(name)` has \(counted(faultCount, "bad samples")); the others are taken"
            .forReport
    }

    /// The whole report as lines for people.
    public var reportLines: [String] {
        var lines = [zoneLine]
        func list(_ title: String, _ entries: [(name: String, value: String)]) {
            guard !entries.isEmpty else { return }
            lines.append(title)
            let width = entries.map(\.name.count).max() ?? 0
            for entry in entries {
                let gap = String(repeating: " ", count: width - entry.name.count + 2)
                lines.append("  \(entry.name)\(gap)\(entry.value)")
            }
        }
        func list(_ title: String, _ counts: [String: Int64]) {
            list(title, counts.ranked.map { ($0.0.forReport, "\($0.1)") })
        }
        list("samples", kinds(report.samplesByKind))
        list("days, nights, sums and workouts", kinds(report.made))
        list("not over yet", kinds(report.unfinished))
        if report.nightsWithoutSleep > 0 {
            lines.append(
                "nights of which only the time in bed is known: \(report.nightsWithoutSleep)")
        }
        list("no field for", report.unmapped)
        list("refused", report.refused)
        list("days, nights, sums and workouts refused", madeRefused)
        list(
            "read in spite of",
            report.malformations.ranked.map { name, count in
                let first = report.firstOffsets[name].map { ", first at byte \($0)" } ?? ""
                return (name, "\(count)\(first)")
            })
        list("records by source", report.bySource)
        list("elements", report.elements)
        list("elements without a date or too long", report.elementsRefused)
        list("beside the records", report.attachments)
        return lines
    }

    /// The values of the result by their names. `by_source` has the names of sources, which are
    /// personal.
    public var facts: [String: JSON] {
        let broken: JSON? = report.brokeAt.map {
            ["byte_offset": .integer($0.byteOffset), "reason": .string($0.reason)]
        }
        return [
            "name": .string(name), "kind": .string(kind.rawValue), "time_zone": .string(timeZone),
            "files": .count(files), "files_unchanged": .count(unchanged),
            "files_unread": .count(unread), "unchanged_since": .text(unchangedSince),
            "bytes_read": .integer(report.bytesRead),
            "records_read": .integer(report.recordsRead + report.nestedTaken),
            "samples": object(kinds(report.samplesByKind)), "made": object(kinds(report.made)),
            "unfinished": object(kinds(report.unfinished)),
            "nights_without_sleep": .integer(report.nightsWithoutSleep),
            "queued": .integer(enqueued.queued), "known": .integer(enqueued.duplicates),
            "before_since": .integer(enqueued.beforeSince),
            "paired": .integer(report.pairedPartners), "folded": .integer(report.folded),
            "repeated": .integer(report.repeated),
            "metrics_queued": .integer(enqueued.metricsQueued),
            "metrics_known": .integer(enqueued.metricsKnown),
            "metrics_replaced": .integer(enqueued.replaced),
            "metrics_corrected": .integer(enqueued.corrected),
            "metrics_kept": .integer(enqueued.keptAsSent),
            "metrics_refused": .integer(enqueued.metricsRefused),
            "metrics_before_since": .integer(enqueued.metricsBeforeSince),
            "pruned": .integer(report.archived.pruned), "nested": .integer(report.nestedSkipped),
            "bad_samples": .count(faultCount),
            "unmapped": object(report.unmapped), "refused": object(report.refused),
            "made_refused": object(madeRefused),
            "elements_refused": object(report.elementsRefused), "malformations": malformations,
            "by_source": object(report.bySource), "elements": object(report.elements),
            "attachments": object(report.attachments), "broke_at": broken ?? .null,
        ]
    }

    private var malformations: JSON {
        .object(
            report.malformations.ranked.map { name, count in
                let first = report.firstOffsets[name].map { JSON.integer($0) }
                return JSON.Member(
                    name: name,
                    value: ["count": .integer(count), "first_offset": first ?? .null])
            })
    }

    private func object(_ counts: [String: Int64]) -> JSON {
        .object(counts.ranked.map { JSON.Member(name: $0.0, value: .integer($0.1)) })
    }

    private func kinds(_ counts: [SampleKind: Int64]) -> [String: Int64] {
        Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
    }
}
