@preconcurrency import Glibc

/// An open folder, which stays the same one whatever is renamed meanwhile.
///
/// A path is safe to walk where somebody else may put links if each folder is opened relative to the
/// one before it.
public final class FolderDescriptor: Sendable {
    /// Why a folder cannot be opened.
    public enum Fault: Error, Hashable, Sendable {
        case symbolicLink
        /// The system refused, with its `errno`; `ENOTDIR` for a file.
        case refused(Int32)
    }

    /// What a folder is opened for.
    public enum Access: Sendable {
        /// To list its names.
        case listing
        /// To reach what is below it; such a folder need not be readable.
        case passing

        /// O_PATH of open(2) is missing in Glibc's module; the same on all machines of Swift.
        fileprivate var flags: Int32 {
            (self == .listing ? O_RDONLY : 0o10_000_000) | O_DIRECTORY | O_CLOEXEC
        }
    }

    /// Closed with the last reference.
    public let descriptor: Int32

    /// Opens a folder wherever its path leads.
    public init(_ path: String, for access: Access) throws(Fault) {
        descriptor = open(path, access.flags)
        guard descriptor >= 0 else { throw .refused(errno) }
    }

    /// Opens the folder `name` of another one, unless it is a symbolic link.
    ///
    /// - Parameter makes: whether to create it if it is missing, accessible to its owner alone.
    public init(
        _ name: String, below folder: FolderDescriptor, for access: Access, makes: Bool = false
    ) throws(Fault) {
        if makes, mkdirat(folder.descriptor, name, 0o700) != 0, errno != EEXIST {
            throw .refused(errno)
        }
        descriptor = openat(folder.descriptor, name, access.flags | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let code = errno
            guard [ENOTDIR, ELOOP].contains(code) else { throw .refused(code) }
            var status = stat()
            let isLink =
                fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
                && status.st_mode & S_IFMT == S_IFLNK
            throw isLink ? .symbolicLink : .refused(ENOTDIR)
        }
    }

    deinit { close(descriptor) }

    /// Returns the names of the folders that a path passes, in their order.
    public static func names(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }
}
