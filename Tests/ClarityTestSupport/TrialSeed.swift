@preconcurrency import Glibc

/// The seeds of random lives. They start at `CLARITY_TEST_SEED`, or else at 0, so that by default
/// every run checks the same lives.
public enum TrialSeed {
    /// The first seed. A value that is not a number counts as unset.
    public static var first: UInt64 {
        getenv("CLARITY_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? 0
    }

    /// Returns `count` ranges of `size` seeds each, and prints the first and the last seed.
    public static func batches(of size: Int, count: Int) -> [Range<UInt64>] {
        let first = first
        print("random lives with seeds \(first) to \(first + UInt64(size * count) - 1)")
        return (0..<UInt64(count)).map { batch in
            first + batch * UInt64(size)..<first + (batch + 1) * UInt64(size)
        }
    }
}
