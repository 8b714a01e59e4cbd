/// What tells whether a source has something new, found out without reading it.
public struct SourceFingerprint: Hashable, Sendable {
    /// Whether it is a folder in which each file counts.
    public var isFolder: Bool
    /// How many files there are; 0 or 1 unless it is a folder.
    public var files: Int
    /// The newest change of a file's contents or place, in nanoseconds since 1970; 0 without a file.
    public var newestChange: Int64

    /// Creates a fingerprint.
    public init(isFolder: Bool = false, files: Int, newestChange: Int64) {
        self.isFolder = isFolder
        self.files = files
        self.newestChange = newestChange
    }

    /// Whether there is something that was not there when `known` was taken.
    ///
    /// Files that are gone are no news. A single file is another one whichever way its time differs:
    /// the clock may have been set back.
    public func isNews(after known: SourceFingerprint?) -> Bool {
        guard let known else { return files > 0 }
        let isOther =
            isFolder
            ? newestChange > known.newestChange : newestChange != known.newestChange
        return files > known.files || files > 0 && isOther
    }
}
