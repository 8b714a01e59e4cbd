import ClarityJobs
import ClarityScheduler
import JSON

/// Chooses one source where several have minutes of meditation for the same time. The sums of a day
/// are merged instead.
///
/// For other kinds, the values of all sources stay. A point that is not a sample rules out no
/// other.
struct SumChoice {
    /// The most sources that are distinguished; further ones count as one without a name.
    private static let mostSources = 512

    fileprivate struct Span: Hashable {
        var start: Int64
        var end: Int64
    }

    private var names: [String: Int32] = [:]
    /// The position of each source in the ranking, the best first.
    private var order: [Int] = []
    /// The best source of each time; empty if there is only one source.
    private var best: [Span: Int32] = [:]

    /// Finds the best source of each time among the points that follow.
    init(of points: JSONParser, _ reader: AutoExportPoint, preferred: [String]) {
        guard case .quantity(let kind) = reader.metric.field, SumChoice.isSum(kind) else { return }
        SumChoice.each(points) { point in
            let name = AutoExportPoint.source(point) ?? ""
            if names[name] == nil, names.count < SumChoice.mostSources {
                names[name] = Int32(names.count)
            }
        }
        guard names.count > 1 else { return }
        if names[""] == nil { names[""] = Int32(names.count) }
        let listed = names.sorted { $0.value < $1.value }.map(\.key)
        order = SourceRank.order(listed, sorts: [], preferred: preferred)
        SumChoice.each(points) { point in
            guard case .success(.sample(let sample, _)) = reader.outcome(of: point) else { return }
            let (place, span) = (place(of: sample), Span(sample))
            if let known = best[span], order[Int(known)] <= order[Int(place)] { return }
            best[span] = place
        }
    }

    /// Whether a sample of the metric counts.
    func takes(_ sample: Sample) -> Bool {
        guard let chosen = best[Span(sample)] else { return true }
        return chosen == place(of: sample)
    }

    private func place(of sample: Sample) -> Int32 {
        names[sample.source ?? ""] ?? names[""] ?? 0
    }

    private static func isSum(_ kind: SampleKind) -> Bool {
        kind == .meditationMinutes
    }

    private static func each(_ points: JSONParser, _ body: (JSON) -> Void) {
        var cursor = points
        do throws(JSONFault) {
            try cursor.enter("[")
            while try cursor.nextElement() {
                if case .success(let point) = try cursor.piece() { body(point) }
            }
        } catch {
            // The fault is found again, and reported, when the points are read.
        }
    }
}

extension SumChoice.Span {
    fileprivate init(_ sample: Sample) {
        self.init(
            start: sample.start.millisecondsSince1970, end: sample.end.millisecondsSince1970)
    }
}
