import Database

/// The random number by which other attempts know an attempt that sends batches.
///
/// While the attempt lives, it holds the lock of that number (`HealthPlace.lock`), which ends with
/// it, however it ends. So the next upload knows which batches nobody sends any more.
struct UploadOwner: Hashable, Sendable {
    let number: Int64

    /// Draws a number that no living attempt has, and takes its lock.
    init(in place: any HealthPlace, _ connection: Connection) throws {
        var drawn: Int64
        repeat {
            drawn = .random(in: 1...(1 << 62))
        } while try !place.lock(drawn, connection)
        number = drawn
    }
}
