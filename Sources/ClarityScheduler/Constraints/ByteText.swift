/// Returns a size in the largest binary unit of which it has at least one, rounded down to a tenth:
/// `1.5 GiB`.
func byteText(_ bytes: Int64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"]
    guard bytes >= 1024 else { return "\(bytes) bytes" }
    var size: Int64 = 1024
    var unit = 0
    while unit + 1 < units.count, bytes / size >= 1024 {
        size *= 1024
        unit += 1
    }
    let tenths = bytes / size * 10 + bytes % size * 10 / size
    return tenths % 10 == 0
        ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
}
