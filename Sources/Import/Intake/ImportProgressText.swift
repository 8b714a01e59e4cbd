import ClarityScheduler
import Platform

/// Writes the progress of an import: a bar that is redrawn on a terminal, or lines elsewhere. It
/// decides on the text and on when to show it, and draws nothing itself.
public struct ImportProgressText: Sendable {
    private var bar: ProgressBar
    private var lastStep: Int64 = 0
    private var lastFile = 1

    /// Starts at `elapsed` on the monotonic clock.
    public init(at elapsed: Duration) { bar = ProgressBar(at: elapsed) }

    /// Returns the bar to draw now, at most `width` columns wide; `nil` if nothing is read yet or
    /// the last bar is too recent.
    public mutating func bar(
        _ progress: ImportProgress, at elapsed: Duration, width: Int
    ) -> String? {
        guard progress.found.bytesRead > 0 || progress.found.bytesTotal != nil else { return nil }
        guard bar.isDue(at: elapsed) else { return nil }
        let found = progress.found
        var facts: [String] = []
        if let share = share(found) {
            facts.append("\(ProgressBar.percent(share)) %")
            facts.append("\(bytes(found.bytesRead)) of \(bytes(found.bytesTotal ?? 0))")
        } else {
            facts.append(bytes(found.bytesRead))
        }
        if found.recordsRead > 0 { facts.append(counted(found.recordsRead, "records")) }
        if progress.files > 1 { facts.append("file \(progress.file) of \(progress.files)") }
        // The sizes of further files are not known yet.
        if progress.files == 1, let share = share(found),
            let left = bar.timeLeft(share, at: elapsed)
        {
            facts.append(left)
        }
        return ProgressBar.text(facts, share: share(found), width: width)
    }

    /// Returns the line to write now; `nil` until another tenth of a file is read.
    public mutating func line(_ progress: ImportProgress, name: String) -> String? {
        if progress.file != lastFile {
            lastFile = progress.file
            lastStep = 0
        }
        guard let share = share(progress.found) else { return nil }
        let step = ProgressBar.percent(share) / 10
        guard step > lastStep else { return nil }
        lastStep = step
        let file = progress.files > 1 ? ", file \(progress.file) of \(progress.files)" : ""
        let records = progress.found.recordsRead
        let counted = records > 0 ? ", \(counted(records, "records"))" : ""
        return "`\(name)`: \(step * 10) % read\(counted)\(file)".forReport
    }

    private func share(_ found: SourceProgress) -> Double? {
        guard let total = found.bytesTotal, total > 0 else { return nil }
        return min(1, max(0, Double(found.bytesRead) / Double(total)))
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
