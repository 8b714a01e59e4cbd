import ClarityScheduler
import Platform

/// The graph of jobs that start other jobs; checks ids and `then:` across the whole list.
struct JobGraph {
    private let jobs: [JobDeclaration.Listed]
    /// The first job with each id, by its index in the list.
    private var places: [JobID: Int] = [:]

    /// Creates a graph of the jobs as written in the file; some may lack an id.
    init(_ jobs: [JobDeclaration.Listed]) {
        self.jobs = jobs
        for (index, job) in jobs.enumerated() {
            guard let id = job.declaration.id?.value, places[id] == nil else { continue }
            places[id] = index
        }
    }

    /// Reports duplicate ids, ids in `then` that no job has, and cycles.
    func check(_ decoding: inout Decoding) {
        let ids = jobs.compactMap { $0.declaration.id?.value?.rawValue }
        for (index, job) in jobs.enumerated() {
            if let id = job.declaration.id, let value = id.value, let first = places[value],
                first != index
            {
                let line = jobs[first].declaration.id?.position.line ?? 0
                decoding.report(
                    id.position, "duplicate job id \(shown(value.rawValue)); first at line \(line)")
            }
            for next in job.declaration.then?.value?.all ?? [] {
                guard let id = next.value, places[id] == nil else { continue }
                decoding.reportUnknown(
                    "job", id.rawValue, in: "`then` of \(job.path.text)", at: next.position,
                    known: ids,
                    help: "no job of this file has that id")
            }
        }
        for circle in circles() { report(circle, &decoding) }
    }

    private func report(_ circle: [Int], _ decoding: inout Decoding) {
        // Start with the cycle's first job in the file, whichever one the search met first.
        guard let start = circle.indices.min(by: { circle[$0] < circle[$1] }) else { return }
        let members = Array(circle[start...] + circle[..<start])
        let names = members.compactMap { jobs[$0].declaration.id?.value?.rawValue }
        guard let first = members.first, let then = jobs[first].declaration.then else { return }
        decoding.report(
            then.position,
            names.count == 1
                ? "job \(listed(names, "and")) starts itself (`then`)"
                : "jobs \(some(of: names)) start one another in a circle (`then`)")
    }

    /// Returns the names; if there are more than eight, the first eight and the number of the rest.
    private func some(of names: [String]) -> String {
        let rest = names.count - 8
        guard rest > 0 else { return listed(names, "and") }
        return names.prefix(8).map(shown).joined(separator: ", ") + " and \(rest) more"
    }

    private func followers(of job: Int) -> [Int] {
        (jobs[job].declaration.then?.value?.all ?? []).compactMap { $0.value.flatMap { places[$0] } }
    }

    /// Returns the cycles that a depth-first search from each job in turn finds; each job is in at
    /// most one.
    ///
    /// The search uses its own stack, because a chain may be as long as the file allows.
    private func circles() -> [[Int]] {
        enum State { case new, open, done }
        var states = [State](repeating: .new, count: jobs.count)
        var told: Set<Int> = []
        var found: [[Int]] = []
        for start in jobs.indices where states[start] == .new {
            var path: [(job: Int, rest: ArraySlice<Int>)] = [(start, followers(of: start)[...])]
            states[start] = .open
            while let last = path.indices.last {
                guard let next = path[last].rest.popFirst() else {
                    states[path[last].job] = .done
                    path.removeLast()
                    continue
                }
                switch states[next] {
                case .new:
                    states[next] = .open
                    path.append((next, followers(of: next)[...]))
                case .open:
                    let circle = path.drop { $0.job != next }.map(\.job)
                    if told.isDisjoint(with: circle) {
                        told.formUnion(circle)
                        found.append(circle)
                    }
                case .done:
                    break
                }
            }
        }
        return found
    }
}

/// `then:` as written in the file.
struct ThenDeclaration: Sendable {
    var succeeded: Field<[Field<JobID>]>?
    var failed: Field<[Field<JobID>]>?

    static let schema = MappingSchema(
        ThenDeclaration(),
        [
            Key(
                "succeeded", { swap(&$0.succeeded, &$1) }, .list(of: .jobID),
                "jobs that run after a success"),
            Key(
                "failed", { swap(&$0.failed, &$1) }, .list(of: .jobID),
                "jobs that run after a final failure"),
        ])

    /// The jobs that run after a success or a failure.
    var all: [Field<JobID>] { (succeeded?.value ?? []) + (failed?.value ?? []) }
}

extension ValueSchema where Value == ThenDeclaration {
    /// Reads the jobs that run after a success, or a mapping with lists for success and failure.
    static var then: ValueSchema {
        let list = ValueSchema<[Field<JobID>]>.list(of: .jobID)
        let mapping = ValueSchema.mapping(ThenDeclaration.schema)
        return ValueSchema(.either(list.description, mapping.description)) {
            node, path, decoding in
            if case .mapping = node.content { return mapping.decode(node, path, &decoding) }
            return list.decode(node, path, &decoding).map {
                ThenDeclaration(succeeded: Field(position: node.position, value: $0))
            }
        }
    }
}
