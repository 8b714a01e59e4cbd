import ClarityJobs

/// Takes a sample that a source has, with how it stands to another of the same kind and times.
typealias SampleTaker = (Sample, SampleNature) throws -> Void

/// What the scanner tells of the elements that it finds.
///
/// The scanner owns the text: tags, malformations, and how many elements of each name there are.
/// The handler owns what they mean. Bytes and ranges hold until the call returns.
protocol ExportHandler {
    /// When the phone wrote the export.
    mutating func exportDate(_ value: Bytes)

    /// Takes a record of the top level.
    ///
    /// - Parameter isOpen: Whether its metadata may follow; then `endRecord` does too.
    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleTaker) throws

    /// Takes metadata of the open record of the top level.
    mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange)

    /// Ends the open record of the top level: its end tag has come, or what cannot stand in it.
    mutating func endRecord(_ each: SampleTaker) throws

    /// Takes a record inside a correlation; `fields` is `nil` when its tag could not be read.
    mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?)

    /// Ends a correlation.
    mutating func closeCorrelation()

    /// Counts a record of the top level whose tag could not be read.
    mutating func refuse(_ refusal: RecordMapper.Refusal)

    /// Takes a day's summary.
    mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields)

    /// Hands over what waited for the end.
    ///
    /// - Parameter isWhole: Whether the text has its end, so that nothing of it can be missing.
    mutating func finish(isWhole: Bool, _ each: SampleTaker) throws

    /// Adds what was counted.
    func write(to report: inout SourceReport)
}

/// Where the attributes of interest lie in the tag of an `ActivitySummary`.
struct SummaryFields {
    /// `dateComponents`, such as `2024-01-21`.
    var date: ByteRange?
    /// `activeEnergyBurned`.
    var energy: ByteRange?
    /// `activeEnergyBurnedUnit`.
    var energyUnit: ByteRange?
    /// `appleExerciseTime`, in minutes.
    var exercise: ByteRange?
    /// `appleStandHours`.
    var stand: ByteRange?

    init(_ bytes: Bytes, _ attributes: AttributeList) {
        date = attributes.value(of: "dateComponents", in: bytes)
        energy = attributes.value(of: "activeEnergyBurned", in: bytes)
        energyUnit = attributes.value(of: "activeEnergyBurnedUnit", in: bytes)
        exercise = attributes.value(of: "appleExerciseTime", in: bytes)
        stand = attributes.value(of: "appleStandHours", in: bytes)
    }
}
