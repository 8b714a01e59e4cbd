@preconcurrency import Glibc

/// Where the seeds of random lives begin: at `CLARITY_TEST_SEED`, else at 0, so that everybody
/// checks the same lives unless somebody wants others.
public enum TrialSeed {
    /// The first seed; a value that is no number counts as none.
    public static var first: UInt64 {
        getenv("CLARITY_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? 0
    }

    /// Seeds in `count` stretches of `size`, which are printed.
    public static func batches(of size: Int, count: Int) -> [Range<UInt64>] {
        let first = first
        print("random lives with seeds \(first) to \(first + UInt64(size * count) - 1)")
        return (0..<UInt64(count)).map { batch in
            first + batch * UInt64(size)..<first + (batch + 1) * UInt64(size)
        }
    }
}
