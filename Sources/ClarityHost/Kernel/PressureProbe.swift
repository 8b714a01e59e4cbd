import ClarityScheduler

/// Reads from the kernel's pressure stall information how much of the time tasks wait.
struct PressureProbe {
    static let resources = ["cpu", "memory", "io"]

    let tree: HostTree

    /// The share of the last ten seconds in which some task waited, in percent, rounded down: the
    /// largest of those for the processor, memory and disk. A trigger announces a rise; nothing
    /// announces a fall.
    var pressurePercent: Conditions.Reading<Int> {
        var highest = Conditions.Reading<Int>(nil, source: "")
        for resource in PressureProbe.resources {
            let path = "/proc/pressure/\(resource)"
            do throws(HostTree.Fault) {
                guard let percent = PressureProbe.someShare(try tree.text(path)) else {
                    throw HostTree.Fault(path: path, reason: "not a pressure")
                }
                if percent >= highest.value ?? 0 {
                    highest = Conditions.Reading(percent, source: path, isSampled: true)
                }
            } catch {
                return .sampledUnknown(error.text)
            }
        }
        return highest
    }

    /// Parses `avg10` of the line `some` and returns it in whole percent, 0 to 100; `nil` for any
    /// other text.
    static func someShare(_ text: String) -> Int? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count >= 2, fields[0] == "some", fields[1].hasPrefix("avg10=") else {
                continue
            }
            let parts = fields[1].dropFirst("avg10=".count).split(
                separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let percent = UInt8(parts[0]), UInt8(parts[1]) != nil,
                percent <= 100
            else { return nil }
            return Int(percent)
        }
        return nil
    }
}
