/// A fault in the text of an export that leaves its records readable.
///
/// The raw value is the name in the report.
enum Malformation: String, CaseIterable {
    /// A declaration that is not closed before the next one begins, as in every export of iOS 16.
    case documentType = "malformed document type"
    /// A declared entity; none is ever expanded.
    case entityDeclaration = "entity declaration"
    case controlCharacter = "control character"
    case badUTF8 = "bad UTF-8"
    case rawAmpersand = "raw ampersand"
    case rawLessThan = "raw less-than sign"
    /// A numeric reference to a character that XML does not allow, such as `&#x0B;`.
    case illegalReference = "illegal character reference"
    case unknownEntity = "unknown entity"
    /// The first one counts.
    case duplicateAttribute = "duplicate attribute"
    case spacedName = "attribute name with a space"
    case unquotedValue = "attribute value without quotes"
    case missingValue = "attribute without a value"
    case strayCharacter = "stray character in a tag"
    case strayText = "text between elements"
    /// A tag that has not ended where the next one begins.
    case unclosedTag = "unclosed tag"
    case unclosedCorrelation = "unclosed correlation"
    case unclosedRecord = "unclosed record"
    /// A tag longer than the window may become; it is skipped.
    case oversizedTag = "oversized tag"
    /// A second `HealthData`; its records count like those of the first.
    case secondRoot = "second root"
}

/// The counts of the malformations, and the offsets at which they were found.
struct MalformationTally {
    /// The most offsets that are kept for each malformation: those of the first 8.
    static let places = 8

    private struct Entry {
        var count: Int64 = 0
        /// Ascending.
        var offsets: [Int64] = []

        mutating func keep(_ offset: Int64) {
            guard offsets.count < MalformationTally.places || offset < offsets[offsets.count - 1]
            else { return }
            let place = offsets.lastIndex { $0 <= offset }.map { $0 + 1 } ?? 0
            offsets.insert(offset, at: place)
            if offsets.count > MalformationTally.places { offsets.removeLast() }
        }
    }

    private var entries: [Malformation: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    mutating func note(_ malformation: Malformation, at offset: Int64) {
        entries[malformation, default: Entry()].count += 1
        entries[malformation, default: Entry()].keep(offset)
    }

    /// Adds the notes of `other` about a piece of the text that begins at `position`.
    mutating func add(_ other: MalformationTally, position: Int64) {
        for (malformation, entry) in other.entries {
            entries[malformation, default: Entry()].count += entry.count
            for offset in entry.offsets {
                entries[malformation, default: Entry()].keep(offset + position)
            }
        }
    }

    func write(to report: inout SourceReport) {
        for (malformation, entry) in entries {
            report.malformations[malformation.rawValue] = entry.count
            report.offsets[malformation.rawValue] = entry.offsets
        }
    }
}
