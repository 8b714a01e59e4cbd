import HealthModel
import ClarityScheduler
import JSON

/// Chooses one source where several have minutes of meditation for the same time. The sums of a day
/// are merged instead.
///
/// For other kinds, the values of all sources stay. A point that is not a sample rules out no
/// other.
struct SumChoice {
    private struct Span: Hashable {
        var start: Instant
        var end: Instant

        init(_ sample: Sample) { (start, end) = (sample.start, sample.end) }
    }

    private var names: AutoExportNames
    /// The position of each source in the ranking, the best first.
    private var order: [Int] = []
    /// The best source of each time; empty if there is only one source.
    private var best: [Span: Int] = [:]

    /// Finds the best source of each time among the points that follow.
    init(of points: JSONParser, _ reader: AutoExportPoint, preferred: [String]) {
        names = AutoExportNames(preferred: preferred)
        guard reader.metric.field == .quantity(.meditationMinutes) else { return }
        points.eachElement { _ = names.add(AutoExportPoint.source($0)) }
        guard names.sources.count > 1 else { return }
        order = SourceRank.order(of: names.sources)
        points.eachElement { point in
            guard case .success(.sample(let sample, _)) = reader.outcome(of: point) else { return }
            let (index, span) = (names.index(of: sample.source), Span(sample))
            if let known = best[span], order[known] <= order[index] { return }
            best[span] = index
        }
    }

    /// Whether a sample of the metric counts.
    func takes(_ sample: Sample) -> Bool {
        guard let chosen = best[Span(sample)] else { return true }
        return chosen == names.index(of: sample.source)
    }
}

extension JSONParser {
    /// Calls `body` for each element of the list that follows, up to where it is not JSON. That
    /// fault is found again, and reported, when the points are read.
    func eachElement(_ body: (JSON) -> Void) {
        var cursor = self
        do throws(JSONFault) {
            try cursor.enter("[")
            while try cursor.nextElement() {
                if case .success(let point) = try cursor.piece() { body(point) }
            }
        } catch {}
    }
}
