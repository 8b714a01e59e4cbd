import ClarityScheduler

/// Tells from the firmware's power profiles whether this machine saves power.
struct PowerProfileProbe {
    /// Drivers' own profiles, since Linux 6.14 (Documentation/ABI/testing/sysfs-class-platform-profile).
    private static let folder = "/sys/class/platform-profile"
    /// One for all of them, since Linux 5.12; `custom` where they differ.
    private static let legacy = "/sys/firmware/acpi/platform_profile"
    private static let others: Set<String> = [
        "cool", "quiet", "balanced", "balanced-performance", "performance", "max-power", "custom",
    ]

    let tree: HostTree

    /// Whether a profile is `low-power`; `nil` when this machine has no profiles: nothing in its
    /// kernel saves power.
    var lowPower: Conditions.Reading<Bool>? {
        var paths: [String] = []
        do throws(HostTree.Fault) {
            paths = try tree.names(in: Self.folder).map { "\(Self.folder)/\($0)/profile" }
        } catch {
            if !error.isAbsent { return .unknown(error.text) }
        }
        // Of the drivers' own a change is announced as a device's.
        let isSampled = paths.isEmpty
        if isSampled { paths = [Self.legacy] }
        var first: Conditions.Reading<Bool>?
        for path in paths {
            var reading: Conditions.Reading<Bool>
            do throws(HostTree.Fault) {
                guard let profile = try tree.textIfPresent(path) else { continue }
                let isKnown = profile == "low-power" || Self.others.contains(profile)
                reading =
                    isKnown
                    ? Conditions.Reading(profile == "low-power", source: path)
                    : .unknown("\(path): not a known profile")
            } catch {
                reading = .unknown(error.text)
            }
            reading.isSampled = isSampled
            if reading.value == true { return reading }
            // A doubt weighs more than a "no".
            if first == nil || reading.value == nil { first = reading }
        }
        return first
    }
}
