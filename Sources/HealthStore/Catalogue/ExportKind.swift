public import ClarityScheduler

// The kind that gives the records of the archive back.

extension JobKind {
    public static let exportData = JobKind("export-data")
}

/// The options of the kind `export-data`.
public struct ExportDataOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .exportData,
        summary: "writes the records of the archive, not encrypted, into a folder such as a NAS's",
        options: declarations)

    /// What records are written as.
    public enum Format: String, CaseIterable, Sendable {
        /// A folder with a file for each type.
        case csv
        /// A folder with a file of FHIR R4 Observations for each type.
        case fhir
        /// A file with a table for each type.
        case sqlite
    }

    public var folder = ""
    public var format = Format.csv
    /// One type on each line; `nil` for all.
    public var types: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "folder", .path, &folder,
            "folder that has the last complete export and nothing else")
        fields.add(
            "format", &format,
            "what is written: a file of CSV or of FHIR Observations for each type, or `records.db`")
        fields.add("types", .texts, &types, "types to write, such as `HeartRate`; without it all")
    }
}
