/// By how much of its front a file is told.
enum SourceSignature {
    /// The bytes of a file that tell what it is.
    static let length = 4096
}
