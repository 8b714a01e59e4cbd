import ClarityScheduler

/// What of the machine's conditions an upload heeds beyond its job's constraints.
struct UploadLimits: Hashable, Sendable {
    /// The bytes that may go over a metered connection in 24 h; `nil`: any number.
    var meteredBudget: Int64?
    /// How many samples may wait and be sent on battery; 0: any number.
    var largeUpload: Int64

    /// The budget that holds now; `nil` when there is none, the connection is not metered, or nobody
    /// knows whether it is.
    func budget(_ conditions: OrderConditions) -> Int64? {
        conditions.metered == true ? meteredBudget : nil
    }

    /// What has to be waited for before anything is sent; `nil` when nothing has.
    ///
    /// - Parameter waiting: how many samples wait to be sent.
    func need(_ waiting: Int64, _ conditions: OrderConditions) -> SendLater? {
        guard largeUpload > 0, waiting > largeUpload, conditions.externalPower == false else {
            return nil
        }
        return SendLater(
            outcome: .awaits(
                .externalPower,
                Failure(
                    .work,
                    "\(waiting) samples wait, more than \(largeUpload): they are sent on external "
                        + "power")))
    }

    /// What is said when the budget has no room for what waits: nothing has failed, and the run goes
    /// on by itself, also on a connection that stays metered.
    ///
    /// - Parameter wait: until there may be room, or another connection.
    static func budgetUsed(_ budget: Int64, _ wait: Duration) -> SendLater {
        SendLater(
            outcome: .snooze(
                after: wait,
                Failure(
                    .work,
                    "the \(sizeText(budget)) that may go over a metered connection in 24 h are used "
                        + "up; asked again in \(SendLater.text(wait))")))
    }

    /// A size in the largest unit that gives it exactly.
    private static func sizeText(_ bytes: Int64) -> String {
        let units: [(name: String, bytes: Int64)] = [
            ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ]
        guard let unit = units.first(where: { bytes > 0 && bytes % $0.bytes == 0 }) else {
            return "\(bytes) bytes"
        }
        return "\(bytes / unit.bytes) \(unit.name)"
    }
}
