/// The types of records that are whole files, and the names of what their metadata has.
package enum KeptFile {
    /// An electrocardiogram with its curve.
    package static let electrocardiogram = "HKDataTypeIdentifierElectrocardiogram"
    /// The voltages of an electrocardiogram: numbers with blanks between them.
    package static let curve = "curve"
    /// How many voltages there are in a second, as the phone wrote it: `512.411 hertz`.
    package static let rate = "Sample Rate"

    /// A FHIR resource that a clinic has sent.
    package static let clinicalResource = "ClinicalRecordFile"
    /// The CDA document of an export.
    package static let clinicalDocument = "ClinicalDocument"
    /// The text of either, as it came.
    package static let content = "content"

    /// Returns the number at the beginning of a text, with a decimal point or comma.
    package static func leadingNumber(_ text: String) -> Double? {
        Double(
            text.replacing(",", with: ".").prefix { ("0"..."9").contains($0) || $0 == "." })
    }
}
