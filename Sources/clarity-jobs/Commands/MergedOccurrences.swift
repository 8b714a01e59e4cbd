import ClarityScheduler

/// The occurrences of several jobs in order of time; at the same instant, in the order of the jobs.
///
/// A heap holds the next occurrence of each job. Each job computes only one occurrence ahead, so
/// that a few occurrences of many jobs cost little.
struct MergedOccurrences: Sequence, IteratorProtocol {
    /// An occurrence of the job with this index.
    struct Element: Comparable {
        var at: Instant
        var job: Int

        static func < (a: Element, b: Element) -> Bool { (a.at, a.job) < (b.at, b.job) }
    }

    private var jobs: [JobOccurrences]
    /// A heap: no element is later than those at twice its index plus one and plus two.
    private var heap: [Element]

    /// Merges the occurrences of jobs.
    init(_ jobs: [JobOccurrences]) {
        var jobs = jobs
        let first = jobs.indices.compactMap { index in
            jobs[index].next().map { Element(at: $0, job: index) }
        }
        self.jobs = jobs
        // A sorted array is a heap.
        heap = first.sorted()
    }

    mutating func next() -> Element? {
        guard let first = heap.first else { return nil }
        if let following = jobs[first.job].next() {
            heap[0] = Element(at: following, job: first.job)
        } else {
            let last = heap.removeLast()
            if heap.isEmpty { return first }
            heap[0] = last
        }
        sink()
        return first
    }

    /// Moves the first element down to restore the heap.
    private mutating func sink() {
        var index = 0
        while true {
            let children = index * 2 + 1...index * 2 + 2
            guard let child = children.filter({ $0 < heap.count }).min(by: { heap[$0] < heap[$1] }),
                heap[child] < heap[index]
            else { return }
            heap.swapAt(index, child)
            index = child
        }
    }
}
