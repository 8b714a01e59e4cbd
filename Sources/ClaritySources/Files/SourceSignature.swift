/// The part at the beginning of a file that shows its kind.
enum SourceSignature {
    /// The number of bytes that show a file's kind.
    static let length = 4096
}
