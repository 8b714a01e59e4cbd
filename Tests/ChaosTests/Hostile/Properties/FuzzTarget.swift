/// A part of the programs that reads foreign input, with the properties that must hold for any
/// input.
///
/// The properties are defined once. A coverage-guided fuzzer searches for texts that break them
/// (`make fuzz`), and the tests check them on stored texts and on seeded mutations of those.
struct FuzzTarget: Sendable {
    /// Checks the properties on a text.
    typealias Check = (_ text: UnsafeBufferPointer<UInt8>) throws -> Void

    /// The name on the command line, and of the folder of stored texts.
    let name: String
    /// Creates the check with everything that it needs. Only one thread at a time may use a check.
    let makeCheck: @Sendable () throws -> Check

    static let all = [
        FuzzTarget(name: "answers", makeCheck: AnswerProperties.makeCheck),
        FuzzTarget(name: "archive", makeCheck: ArchiveProperties.makeCheck),
        FuzzTarget(name: "fhir", makeCheck: { FHIRAnswerProperties.check }),
        FuzzTarget(name: "jobfile", makeCheck: JobFileProperties.makeCheck),
        FuzzTarget(name: "lines", makeCheck: LineProperties.makeCheck),
        FuzzTarget(name: "requests", makeCheck: RequestProperties.makeCheck),
        FuzzTarget(name: "scanner", makeCheck: { ScannerProperties.check }),
        FuzzTarget(name: "schedules", makeCheck: ScheduleProperties.makeCheck),
        FuzzTarget(name: "spool", makeCheck: SpoolProperties.makeCheck),
    ]
}

/// A property that a text breaks.
struct BrokenProperty: Error, CustomStringConvertible {
    let description: String
}

/// Ends the check of a text that breaks a property.
func require(_ holds: Bool, _ property: @autoclosure () -> String) throws(BrokenProperty) {
    if !holds { throw BrokenProperty(description: property()) }
}

/// Ends the check if a text for people could steer their terminal.
func demandHarmless(_ text: String, _ where: String) throws(BrokenProperty) {
    let scalar = text.unicodeScalars.first { scalar in
        switch scalar.value {
        case 0x0A: false
        case 0..<0x20, 0x7F...0x9F: true
        // Characters that change the direction of the text, or end a line.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
    try require(scalar == nil, "U+\(String(scalar?.value ?? 0, radix: 16)) is shown in \(`where`)")
}

extension UnsafeBufferPointer<UInt8> {
    /// The first byte, which selects what is checked, and the text after it; `nil` if there is no
    /// text.
    var drawn: (draw: UInt8, text: UnsafeBufferPointer<UInt8>)? {
        guard let first, count > 1 else { return nil }
        return (first, UnsafeBufferPointer(rebasing: dropFirst()))
    }
}
