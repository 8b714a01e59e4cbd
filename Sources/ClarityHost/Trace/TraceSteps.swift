import ClarityScheduler

extension Conditions {
    /// Returns these conditions without the changes since `earlier` that are too small for a line.
    ///
    /// Free storage is rounded down to whole MiB, and counts as changed if it differs by 5 % of
    /// what it was, at least 1 MiB. Pressure counts as changed if it differs by 10 points. Every
    /// other change counts.
    func inSteps(from earlier: Conditions?) -> Conditions {
        var result = self
        result.storageFreeBytes = storageFreeBytes.inSteps(from: earlier?.storageFreeBytes)
        for (path, free) in storage {
            result.storage[path] = free.inSteps(from: earlier?.storage[path])
        }
        guard let earlier else { return result }
        if let now = pressurePercent.value, let then = earlier.pressurePercent.value,
            (now - then).magnitude < 10
        {
            result.pressurePercent = earlier.pressurePercent
        }
        return result
    }

}

extension Conditions.Reading<Int64> {
    fileprivate func inSteps(from earlier: Self?) -> Self {
        var result = self
        result.value = value.map { $0 & ~((1 << 20) - 1) }
        if let now = result.value, let earlier, let then = earlier.value,
            (now - then).magnitude < max(1 << 20, then.magnitude / 20)
        {
            return earlier
        }
        return result
    }
}
