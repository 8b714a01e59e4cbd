/// The random number by which other attempts know an attempt that sends batches.
///
/// While the attempt lives, the byte of `health.lock` at that number is locked. The kernel unlocks
/// it when the process ends, however it ends, so that the next upload knows which batches nobody
/// sends any more.
struct UploadOwner: Hashable, Sendable {
    let number: Int64

    /// Draws a number that no living attempt has, and locks its byte.
    ///
    /// - Parameter lock: keeps the byte locked; `nil` for a rehearsal, which sends nothing.
    init(lockedBy lock: StoreLock?) throws(HealthStoreError) {
        var drawn: Int64
        repeat { drawn = .random(in: 1...(1 << 62)) } while try lock?.lock(byte: drawn) == false
        number = drawn
    }
}
