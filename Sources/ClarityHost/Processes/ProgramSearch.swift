import Glibc

/// Finds programs as a shell does, but only at places that do not depend on the working directory.
enum ProgramSearch {
    /// The folders to search if the environment names none.
    static let standardFolders = "/usr/local/bin:/usr/bin:/bin"

    /// Returns the path of a program; `nil` if it is not found.
    ///
    /// A name with a slash must be an absolute path, and is returned as it is, whether the program
    /// exists or not. Any other name is searched for in the absolute folders among `folders`, a
    /// list with colons like `PATH`.
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
