import HealthModel
import ClarityScheduler

@testable import Import
@testable import ClarityJobs

/// A source that returns what a test wants; its file need not contain it.
struct ScriptedSource: SampleSource {
    var path: String
    var samples: [(Sample, SampleNature)] = []
    var since: Instant?
    var reader = "scripted 1"
    /// Called before each sample with its index, and with `samples.count` after the last.
    var before: @Sendable (Int) throws -> Void = { _ in }
    var report = SourceReport()

    var name: String { "scripted" }
    var file: String { path }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        for (place, (sample, nature)) in samples.enumerated() {
            try before(place)
            try progress?(SourceProgress(bytesRead: Int64(place), bytesTotal: nil))
            try each(sample, nature)
        }
        try before(samples.count)
        var report = report
        report.recordsRead = Int64(samples.count)
        guard report.samplesByKind.isEmpty else { return report }
        for (sample, nature) in samples {
            switch nature {
            case .measurement, .knownMeasurement: report.samplesByKind[sample.kind, default: 0] += 1
            case .aggregate:
                report.aggregated += 1
                report.made[sample.kind, default: 0] += 1
            }
        }
        return report
    }
}

/// Makes invented heart rates, one a minute.
func minutes(_ range: Range<Int>) -> [(Sample, SampleNature)] {
    range.map { index in
        let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 60)
        return (
            Sample(kind: .heartRate, start: start, end: start, value: .single(60)), .measurement
        )
    }
}

/// Makes an invented day of steps.
func day(_ index: Int, _ steps: Double) -> (Sample, SampleNature) {
    let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 86_400)
    return (
        Sample(
            kind: .steps, start: start, end: start + .seconds(86_400), value: .single(steps)),
        .aggregate(asOf: start + .seconds(86_400))
    )
}
