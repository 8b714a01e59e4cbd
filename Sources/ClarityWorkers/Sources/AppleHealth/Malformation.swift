/// What can be wrong with the text of an export without making its records unreadable.
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
    /// A numeric reference to what XML does not allow, `&#x0B;` for one.
    case illegalReference = "illegal character reference"
    case unknownEntity = "unknown entity"
    /// The first of them counts.
    case duplicateAttribute = "duplicate attribute"
    case spacedName = "attribute name with a space"
    case unquotedValue = "attribute value without quotes"
    case missingValue = "attribute without a value"
    case strayCharacter = "stray character in a tag"
    case strayText = "text between elements"
    /// A tag in which the next one begins.
    case unclosedTag = "unclosed tag"
    case unclosedCorrelation = "unclosed correlation"
    /// A tag longer than the window may grow; it is passed over.
    case oversizedTag = "oversized tag"
    /// A second `HealthData`; its records count like those of the first.
    case secondRoot = "second root"
}

/// How often each malformation was met, and where first.
struct MalformationTally {
    private struct Entry {
        var count: Int64 = 0
        var first = Int64.max
    }

    private var entries: [Malformation: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    mutating func note(_ malformation: Malformation, at offset: Int64) {
        var entry = entries[malformation, default: Entry()]
        entry.count += 1
        entry.first = min(entry.first, offset)
        entries[malformation] = entry
    }

    /// Adds what `other` noted in a piece of the text that begins at `position`.
    mutating func add(_ other: MalformationTally, position: Int64) {
        for (malformation, entry) in other.entries {
            var sum = entries[malformation, default: Entry()]
            sum.count += entry.count
            sum.first = min(sum.first, entry.first + position)
            entries[malformation] = sum
        }
    }

    func write(to report: inout SourceReport) {
        for (malformation, entry) in entries {
            report.malformations[malformation.rawValue] = entry.count
            report.firstOffsets[malformation.rawValue] = entry.first
        }
    }
}
