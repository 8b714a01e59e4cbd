import ClarityJobs

/// Receives a sample from a source, and how it relates to others of the same kind and times.
typealias SampleTaker = (Sample, SampleNature) throws -> Void

/// Receives the elements that the scanner finds.
///
/// The scanner is in charge of the text: tags, malformations, and the number of elements of each
/// name. The handler is in charge of their meaning. Bytes and ranges are valid until the call
/// returns.
protocol ExportHandler {
    /// Receives the time at which the phone wrote the export.
    mutating func exportDate(_ value: Bytes)

    /// Receives a record of the top level.
    ///
    /// - Parameter isOpen: Whether its metadata may follow; `endRecord` then follows too.
    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleTaker) throws

    /// Receives metadata of the open record of the top level.
    mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange)

    /// Ends the open record of the top level, at its end tag or at an element that cannot be inside
    /// it.
    mutating func endRecord(_ each: SampleTaker) throws

    /// Receives a record inside a correlation; `fields` is `nil` if its tag could not be read.
    mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?)

    /// Ends a correlation.
    mutating func closeCorrelation()

    /// Counts a record of the top level whose tag could not be read.
    mutating func refuse(_ refusal: RecordMapper.Refusal)

    /// Receives the summary of a day.
    mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields)

    /// Passes on the samples that waited for the end.
    ///
    /// - Parameter isWhole: Whether the text is complete, so that nothing of it can be missing.
    mutating func finish(isWhole: Bool, _ each: SampleTaker) throws

    /// Adds the counts to `report`.
    func write(to report: inout SourceReport)
}

/// The ranges of the needed attributes in the tag of an `ActivitySummary`.
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
