import ClarityScheduler

extension Conditions {
    /// These conditions without the changes since `earlier` that are too small to be worth a line.
    ///
    /// Free storage is rounded down to whole MiB and counts as changed by 5 % of what it was, at
    /// least 1 MiB; pressure counts as changed by 10 points. Everything else counts as it is.
    func inSteps(from earlier: Conditions?) -> Conditions {
        var result = self
        result.storageFreeBytes.value = storageFreeBytes.value.map { $0 & ~Conditions.mebibyte }
        guard let earlier else { return result }
        if let now = result.storageFreeBytes.value, let then = earlier.storageFreeBytes.value,
            (now - then).magnitude < max(1 << 20, then.magnitude / 20)
        {
            result.storageFreeBytes = earlier.storageFreeBytes
        }
        if let now = pressurePercent.value, let then = earlier.pressurePercent.value,
            (now - then).magnitude < 10
        {
            result.pressurePercent = earlier.pressurePercent
        }
        return result
    }

    private static var mebibyte: Int64 { (1 << 20) - 1 }
}
