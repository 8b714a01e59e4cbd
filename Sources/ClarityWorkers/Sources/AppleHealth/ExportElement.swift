/// The elements that a reader of samples tells apart.
enum ExportElement {
    case record
    case correlation
    case root
    /// One that stands beside records and correlations and never in them.
    case sibling
    case other

    /// Finds the element whose name is the bytes from `start` to `end`.
    @inline(__always)
    init(_ bytes: Bytes, _ start: Int, _ end: Int) {
        self =
            switch end - start {
            case 6 where bytes.matches("Record", start, end): .record
            case 11 where bytes.matches("Correlation", start, end): .correlation
            case 10 where bytes.matches("HealthData", start, end): .root
            case 7 where bytes.matches("Workout", start, end): .sibling
            case 15 where bytes.matches("ActivitySummary", start, end): .sibling
            case 14 where bytes.matches("ClinicalRecord", start, end): .sibling
            default: .other
            }
    }
}
