import ClarityScheduler
import ClaritySystem

/// Writes the progress of an import: a bar that is redrawn on a terminal, or lines elsewhere. It
/// decides on the text and on when to show it, and draws nothing itself.
public struct ImportProgressText: Sendable {
    /// The minimum time between two bars.
    static let pace = Duration.milliseconds(100)
    /// The time after which the remaining time is estimated.
    private static let firstEstimate = Duration.seconds(1)

    private let startedAt: Duration
    private var shownAt: Duration?
    private var lastStep: Int64 = 0
    private var lastFile = 1

    /// Starts at `elapsed` on the monotonic clock.
    public init(at elapsed: Duration) { startedAt = elapsed }

    /// Returns the bar to draw now, at most `width` columns wide; `nil` if nothing is read yet or
    /// the last bar is too recent.
    public mutating func bar(
        _ progress: ImportProgress, at elapsed: Duration, width: Int
    ) -> String? {
        guard progress.found.bytesRead > 0 || progress.found.bytesTotal != nil else { return nil }
        if let shownAt, elapsed - shownAt < ImportProgressText.pace { return nil }
        shownAt = elapsed
        let found = progress.found
        var facts: [String] = []
        if let share = share(found) {
            facts.append("\(percent(share)) %")
            facts.append("\(bytes(found.bytesRead)) of \(bytes(found.bytesTotal ?? 0))")
        } else {
            facts.append(bytes(found.bytesRead))
        }
        if found.recordsRead > 0 { facts.append("\(found.recordsRead) records") }
        if progress.files > 1 { facts.append("file \(progress.file) of \(progress.files)") }
        if let rest = estimate(progress, at: elapsed) { facts.append("\(span(rest)) left") }
        let text = facts.joined(separator: "  ")
        guard let share = share(found) else { return String(text.prefix(width)) }
        let room = min(30, width - text.count - 4)
        guard room >= 5 else { return String(text.prefix(width)) }
        let filled = Int((Double(room) * share).rounded(.down))
        let line =
            String(repeating: "=", count: filled)
            + String(repeating: " ", count: room - filled)
        return "[\(line)] \(text)"
    }

    /// Returns the line to write now; `nil` until another tenth of a file is read.
    public mutating func line(_ progress: ImportProgress, name: String) -> String? {
        if progress.file != lastFile {
            lastFile = progress.file
            lastStep = 0
        }
        guard let share = share(progress.found) else { return nil }
        let step = percent(share) / 10
        guard step > lastStep else { return nil }
        lastStep = step
        let file = progress.files > 1 ? ", file \(progress.file) of \(progress.files)" : ""
        let records = progress.found.recordsRead
        let counted = records > 0 ? ", \(records) records" : ""
        return "`\(name)`: \(step * 10) % read\(counted)\(file)".forReport
    }

    private func share(_ found: SourceProgress) -> Double? {
        guard let total = found.bytesTotal, total > 0 else { return nil }
        return min(1, max(0, Double(found.bytesRead) / Double(total)))
    }

    private func percent(_ share: Double) -> Int64 { Int64(share * 100) }

    /// Estimates the remaining time from the share that is read. `nil` for several files, in the
    /// first second, and below 2 %.
    private func estimate(_ progress: ImportProgress, at elapsed: Duration) -> Duration? {
        let spent = elapsed - startedAt
        guard progress.files == 1, spent >= ImportProgressText.firstEstimate,
            let share = share(progress.found), share >= 0.02
        else { return nil }
        return .milliseconds(Int64(Double(spent.milliseconds) * (1 - share) / share))
    }

    private func span(_ rest: Duration) -> String {
        let seconds = (rest.milliseconds + 999) / 1000
        return seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    }

    /// `831 B`, `64 kB`, `877 MB`.
    private func bytes(_ count: Int64) -> String {
        switch count {
        case ..<1000: "\(count) B"
        case ..<1_000_000: "\(count / 1000) kB"
        case ..<10_000_000_000: "\(count / 1_000_000) MB"
        default: "\(count / 1_000_000_000) GB"
        }
    }
}
