/// A summary of a source that shows whether it has something new, taken without reading its files.
public struct SourceFingerprint: Hashable, Sendable {
    /// Whether the source is a folder in which each file counts.
    public var isFolder: Bool
    /// The number of files; 0 or 1 unless the source is a folder.
    public var files: Int
    /// The time of the newest change of a file's contents or name, in nanoseconds since 1970; 0
    /// without a file.
    public var newestChange: Int64

    /// Creates a fingerprint.
    public init(isFolder: Bool = false, files: Int, newestChange: Int64) {
        self.isFolder = isFolder
        self.files = files
        self.newestChange = newestChange
    }

    /// Whether the source has something that was not there when `known` was taken.
    ///
    /// A removed file is no news. A single file is new whichever way its time differs, because the
    /// clock may have been set back.
    public func isNews(after known: SourceFingerprint?) -> Bool {
        guard let known else { return files > 0 }
        let isOther =
            isFolder
            ? newestChange > known.newestChange : newestChange != known.newestChange
        return files > known.files || files > 0 && isOther
    }
}
