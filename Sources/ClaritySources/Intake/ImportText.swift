import ClarityJobs
import ClarityScheduler
import ClaritySystem
import JSON

// The result of an import, for people and for programs. Both contain the names of sources only on
// request, because those are for the person at the terminal.

extension ImportAccount {
    /// One line for people.
    public var summary: String {
        if unchanged == files, let unchangedSince {
            return "`\(name)`: unchanged since it was read at \(unchangedSince)".forReport
        }
        var parts = [
            (enqueued.queued, "queued"), (enqueued.duplicates, "known"),
            (report.pairedPartners, "paired"), (report.folded, "folded"),
            (report.repeated, "repeated"),
            (report.unmapped.values.reduce(0, +), "without a field"),
            (report.refused.values.reduce(0, +), "refused"),
            (enqueued.beforeSince, "before the time asked for"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if parts.isEmpty { parts = ["nothing in it"] }
        let records = report.recordsRead + report.nestedTaken
        var text = "`\(name)`: \(counted(records, "record")) read"
        if files > 1 { text += " from \(files) files" }
        text += ": \(parts.joined(separator: ", "))"
        let metrics = [
            (enqueued.metricsQueued, "queued"), (enqueued.metricsKnown, "known"),
            (enqueued.replaced, "replaced"), (enqueued.corrected, "corrected"),
            (enqueued.keptAsSent, "kept as they were sent"), (enqueued.metricsRefused, "refused"),
            (enqueued.metricsBeforeSince, "before the time asked for"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if !metrics.isEmpty {
            text += "; days, nights and sums: \(metrics.joined(separator: ", "))"
        }
        // A text that breaks off makes no day; the complaint says so.
        let unfinished = report.unfinished.values.reduce(0, +)
        if unfinished > 0, report.brokeAt == nil { text += "; \(unfinished) not over yet" }
        if unchanged > 0 { text += "; \(counted(Int64(unchanged), "file")) unchanged" }
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
        return "`\(name)` has \(counted(Int64(faultCount), "bad sample")); the others are taken"
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
        list("days, nights and sums", kinds(report.made))
        list("not over yet", kinds(report.unfinished))
        if report.nightsWithoutSleep > 0 {
            lines.append(
                "nights of which only the time in bed is known: \(report.nightsWithoutSleep)")
        }
        list("no field for", report.unmapped)
        list("refused", report.refused)
        list("days, nights and sums refused", madeRefused)
        list(
            "read in spite of",
            report.malformations.ranked.map { name, count in
                let first = report.firstOffsets[name].map { ", first at byte \($0)" } ?? ""
                return (name, "\(count)\(first)")
            })
        list("records by source", report.bySource)
        list("elements", report.elements)
        list("beside the records", report.attachments)
        return lines
    }

    /// Returns the result as a JSON object.
    ///
    /// - Parameter isWhole: whether to include the names of sources, which are personal, and the
    ///   elements and attachments.
    public func json(isWhole: Bool, isPage: Bool) -> String {
        var members: [JSON.Member] = []
        func add(_ name: String, _ value: JSON) {
            members.append(JSON.Member(name: name, value: value))
        }
        add("name", .string(name))
        add("kind", .string(kind.rawValue))
        add("time_zone", .string(timeZone))
        add("files", .count(files))
        add("files_unchanged", .count(unchanged))
        add("files_unread", .count(unread))
        add("unchanged_since", .text(unchangedSince))
        add("bytes_read", .integer(report.bytesRead))
        add("records_read", .integer(report.recordsRead + report.nestedTaken))
        add("samples", object(kinds(report.samplesByKind)))
        add("made", object(kinds(report.made)))
        add("unfinished", object(kinds(report.unfinished)))
        add("nights_without_sleep", .integer(report.nightsWithoutSleep))
        for (name, count) in [
            ("queued", enqueued.queued), ("known", enqueued.duplicates),
            ("before_since", enqueued.beforeSince), ("paired", report.pairedPartners),
            ("folded", report.folded), ("repeated", report.repeated),
            ("metrics_queued", enqueued.metricsQueued),
            ("metrics_known", enqueued.metricsKnown), ("metrics_replaced", enqueued.replaced),
            ("metrics_corrected", enqueued.corrected),
            ("metrics_kept", enqueued.keptAsSent),
            ("metrics_refused", enqueued.metricsRefused),
            ("metrics_before_since", enqueued.metricsBeforeSince),
            ("nested", report.nestedSkipped), ("bad_samples", Int64(faultCount)),
        ] { add(name, .integer(count)) }
        add("unmapped", object(report.unmapped))
        add("refused", object(report.refused))
        add("made_refused", object(madeRefused))
        add(
            "malformations",
            .object(
                report.malformations.ranked.map { name, count in
                    JSON.Member(
                        name: name,
                        value: [
                            "count": .integer(count),
                            "first_offset": report.firstOffsets[name].map { .integer($0) } ?? .null,
                        ])
                }))
        if isWhole {
            add("by_source", object(report.bySource))
            add("elements", object(report.elements))
            add("attachments", object(report.attachments))
        }
        add(
            "broke_at",
            report.brokeAt.map {
                ["byte_offset": .integer($0.byteOffset), "reason": .string($0.reason)]
            } ?? .null)
        let json = JSON.object(members)
        return isPage ? json.page : json.line
    }

    private func object(_ counts: [String: Int64]) -> JSON {
        .object(counts.ranked.map { JSON.Member(name: $0.0, value: .integer($0.1)) })
    }

    private func kinds(_ counts: [SampleKind: Int64]) -> [String: Int64] {
        Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
    }
}

private func counted(_ count: Int64, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}
