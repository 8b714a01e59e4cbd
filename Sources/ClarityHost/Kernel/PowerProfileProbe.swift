import ClarityScheduler

/// Reads from the firmware's power profiles whether this machine saves power.
struct PowerProfileProbe {
    /// The drivers' own profiles, since Linux 6.14
    /// (Documentation/ABI/testing/sysfs-class-platform-profile).
    private static let folder = "/sys/class/platform-profile"
    /// One profile for all drivers, since Linux 5.12; `custom` if they differ.
    private static let legacy = "/sys/firmware/acpi/platform_profile"
    private static let others: Set<String> = [
        "cool", "quiet", "balanced", "balanced-performance", "performance", "max-power", "custom",
    ]

    let tree: HostTree

    /// Whether a profile is `low-power`; `nil` if this machine has no profiles, so nothing in its
    /// kernel saves power.
    var lowPower: Conditions.Reading<Bool>? {
        var paths: [String] = []
        do throws(HostTree.Fault) {
            paths = try tree.names(in: Self.folder).map { "\(Self.folder)/\($0)/profile" }
        } catch {
            if !error.isAbsent { return .unknown(error.text) }
        }
        // The kernel announces changes of the drivers' own profiles as device events.
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
            // Unknown wins over no.
            if first == nil || reading.value == nil { first = reading }
        }
        return first
    }
}
