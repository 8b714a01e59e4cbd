import Glibc

/// Finds programs as a shell does, but only where their place does not depend on who asks.
enum ProgramSearch {
    /// The folders that are searched where the environment names none.
    static let standardFolders = "/usr/local/bin:/usr/bin:/bin"

    /// The path of a program.
    ///
    /// A name with a slash must be an absolute path and is returned as it is, whether there is such a
    /// program or not. Any other is looked for in the absolute folders among `folders`, a list with
    /// colons as `PATH` is. `nil` where there is none.
    static func path(of name: String, in folders: String?) -> String? {
        guard !name.utf8.contains(UInt8(ascii: "/")) else {
            return name.hasPrefix("/") ? name : nil
        }
        guard !name.isEmpty else { return nil }
        for folder in (folders ?? standardFolders).split(separator: ":") where folder.first == "/" {
            let path = "\(folder)/\(name)"
            var status = stat()
            // A folder may be executable too.
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                access(path, X_OK) == 0
            {
                return path
            }
        }
        return nil
    }
}
