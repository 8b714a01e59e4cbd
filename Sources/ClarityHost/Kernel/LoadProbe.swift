import ClarityScheduler

/// Reads the load of the processors, which decides whether a machine is idle when nobody is logged
/// in.
struct LoadProbe {
    /// The load below which a machine is idle, in percent, unless the job file sets another.
    static let idleBelow = 25

    private static let average = "/proc/loadavg"
    private static let online = "/sys/devices/system/cpu/online"

    let tree: HostTree

    /// Returns whether the load is below `percent`. The source names both:
    /// `load of 12% of 2 processors is below 25%`.
    func idle(below percent: Int = LoadProbe.idleBelow) -> Conditions.Reading<Bool> {
        do throws(HostTree.Fault) {
            guard let hundredths = LoadProbe.hundredths(try tree.text(LoadProbe.average)) else {
                throw HostTree.Fault(path: LoadProbe.average, reason: "not a load")
            }
            guard let processors = LoadProbe.count(try tree.text(LoadProbe.online)) else {
                throw HostTree.Fault(path: LoadProbe.online, reason: "not a list of processors")
            }
            let load = hundredths / processors
            let word = load < percent ? "is below" : "is not below"
            let noun = counted(processors, "processors")
            return Conditions.Reading(
                load < percent, source: "load of \(load)% of \(noun) \(word) \(percent)%",
                isSampled: true)
        } catch {
            return .sampledUnknown(error.text)
        }
    }

    /// Parses the first average, 0.00 to 999999.99, and returns it in hundredths:
    /// 20 for `0.20 0.18 0.12 1/80 11206`. Returns `nil` for any other text.
    static func hundredths(_ text: String) -> Int? {
        guard let average = text.split(separator: " ").first else { return nil }
        let parts = average.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...6).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
            parts.joined().utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(parts.joined())
    }

    /// Returns how many processors a list names: 5 for `0-3,6`.
    static func count(_ list: String) -> Int? {
        var count = 0
        var next = 0
        for range in list.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = range.split(separator: "-", omittingEmptySubsequences: false)
            guard (1...2).contains(ends.count), let first = UInt16(ends[0]),
                let last = UInt16(ends[ends.count - 1]), next <= first, first <= last
            else { return nil }
            count += Int(last - first) + 1
            next = Int(last) + 1
        }
        return count
    }
}
