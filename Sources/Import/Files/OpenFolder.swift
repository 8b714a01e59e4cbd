import Platform
@preconcurrency import Glibc

/// An open folder; its files stay reachable if something else takes its place.
final class OpenFolder {
    /// The most names that are listed; the others wait for the next time.
    static let mostNames = 100_000

    let place: SourcePlace
    private let folder: FolderDescriptor
    var descriptor: Int32 { folder.descriptor }

    var path: String { place.path }

    /// Opens a folder; its path is followed as far as the place allows.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFolder`, `symbolicLink`, `unreadable`.
    convenience init(_ place: SourcePlace) throws(SourceError) {
        if let (folder, name) = try place.parent() {
            try self.init(name, below: folder, for: .listing)
        } else {
            try self.init(place) { () throws(FolderDescriptor.Fault) in
                try FolderDescriptor(place.path, for: .listing)
            }
        }
    }

    /// Opens a folder whose whole path may be followed, for reaching what is below it.
    convenience init(passing place: SourcePlace) throws(SourceError) {
        try self.init(place) { () throws(FolderDescriptor.Fault) in
            try FolderDescriptor(place.path, for: .passing)
        }
    }

    /// Opens the folder `name` of a folder, unless it is a symbolic link.
    ///
    /// - Parameter makes: whether to create it if it is missing, accessible to its owner alone.
    convenience init(
        _ name: String, below above: OpenFolder, for access: FolderDescriptor.Access = .listing,
        makes: Bool = false
    ) throws(SourceError) {
        try self.init(above.place.inside(name)) { () throws(FolderDescriptor.Fault) in
            try FolderDescriptor(name, below: above.folder, for: access, makes: makes)
        }
    }

    private init(
        _ place: SourcePlace, _ open: () throws(FolderDescriptor.Fault) -> FolderDescriptor
    ) throws(SourceError) {
        do throws(FolderDescriptor.Fault) {
            folder = try open()
        } catch {
            switch error {
            case .symbolicLink: throw .symbolicLink(path: place.path)
            case .refused(ENOTDIR), .refused(ELOOP): throw .notAFolder(path: place.path)
            case .refused(let code): throw SourceError(opening: place.path, code)
            }
        }
        self.place = place
    }

    /// Whether a file in the folder may belong to somebody else, because it has another name as
    /// well: any such file of an account, otherwise one that the folder's owner does not own.
    func isForeign(_ file: stat) -> Bool {
        guard file.st_mode & S_IFMT == S_IFREG, file.st_nlink > 1 else { return false }
        var own = stat()
        return place.isOfAccount || fstat(descriptor, &own) != 0 || own.st_uid != file.st_uid
    }

    /// Returns the names in the folder that `isWanted` accepts, in the order of their bytes.
    func names(where isWanted: (String) -> Bool) throws(SourceError) -> [String] {
        // A descriptor of its own: the listing closes it, and has its own position in the folder.
        let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0, let listing = fdopendir(own) else {
            let code = errno
            if own >= 0 { close(own) }
            throw SourceError(opening: path, code)
        }
        defer { closedir(listing) }
        var names: [String] = []
        while names.count < OpenFolder.mostNames, let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            // A name that is not UTF-8 could not be opened by its text.
            if let name, isWanted(name) { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Returns the stamp of the file at `name`; `nil` if there is none.
    func stamp(of name: String) -> RegularFile.Stamp? {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return RegularFile.Stamp(status)
    }

    /// Creates an empty file, accessible to its owner alone; returns `false` if the name is taken.
    func reserve(_ name: String) throws(SourceError) -> Bool {
        let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 {
            close(file)
            return true
        }
        guard errno == EEXIST else { throw SourceError(opening: "\(path)/\(name)", errno) }
        return false
    }

    /// Writes a file, accessible to its owner alone, over any file of this name.
    func write(_ name: String, _ text: String) throws(SourceError) {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
        let file = openat(descriptor, name, flags, 0o600)
        guard file >= 0 else { throw SourceError(opening: "\(path)/\(name)", errno) }
        defer { close(file) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SourceError(opening: "\(path)/\(name)", errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Moves a file into another folder of the same file system, over any file of that name.
    func move(_ name: String, to folder: OpenFolder, _ newName: String) throws(SourceError) {
        guard renameat(descriptor, name, folder.descriptor, newName) == 0 else {
            throw SourceError(opening: "\(path)/\(name)", errno)
        }
    }

    /// Removes a file, if it is there.
    func remove(_ name: String) { unlinkat(descriptor, name, 0) }
}

/// The path of a source, and the part of it in which links are followed.
///
/// Whoever writes the job file trusts the folders that he names there. Below them, somebody else
/// may have put a link to a file that is not his. So every reader, deleter and mover opens that
/// part folder by folder, each relative to the one before it, and follows no link: whatever is
/// renamed meanwhile, the file is one that is really there.
package struct SourcePlace: Hashable, Sendable {
    /// Where links are followed.
    package enum Links: Hashable, Sendable {
        /// In the whole path: one person owns the job file and the source.
        case followed
        /// In the path of this folder only.
        case refused(below: String)
        /// In the path of this folder only, which several accounts share. A file below it may not
        /// have a second name either, because that may be in another account's folder.
        case refusedInAccount(below: String)
    }

    package let path: String
    let links: Links

    package init(_ path: String, _ links: Links = .followed) {
        self.path = path
        self.links = links
    }

    var isOfAccount: Bool {
        if case .refusedInAccount = links { true } else { false }
    }

    /// The place of a file in this folder.
    func inside(_ name: String) -> SourcePlace {
        let folder = path.hasSuffix("/") ? path : "\(path)/"
        return SourcePlace("\(folder)\(name)", links == .followed ? .refused(below: path) : links)
    }

    /// The folder in whose path links are followed, and the names below it.
    fileprivate var parts: (trusted: String, rest: [String]) {
        let folder: String
        switch links {
        case .followed: return (path, [])
        case .refused(let below), .refusedInAccount(let below): folder = below
        }
        let (outer, whole) = (FolderDescriptor.names(folder), FolderDescriptor.names(path))
        guard whole.starts(with: outer) else {
            return (path.hasPrefix("/") ? "/" : ".", whole)
        }
        return (folder, Array(whole.dropFirst(outer.count)))
    }

    /// Removes the file, if it is there.
    ///
    /// - Throws: `SourceError` if a folder of the path is a link, or if the system refuses.
    func remove() throws(SourceError) {
        let result: Int32
        if let (folder, name) = try parent() {
            result = unlinkat(folder.descriptor, name, 0)
        } else {
            result = unlink(path)
        }
        guard result == 0 || errno == ENOENT else { throw SourceError(opening: path, errno) }
    }

    /// Opens the folder in which no link is followed, and returns it with the name in it; `nil` if
    /// links are followed in the whole path.
    func parent() throws(SourceError) -> (folder: OpenFolder, name: String)? {
        let (trusted, rest) = parts
        guard let name = rest.last else { return nil }
        var folder = try OpenFolder(passing: SourcePlace(trusted, links))
        for part in rest.dropLast() {
            folder = try OpenFolder(part, below: folder, for: .passing)
        }
        return (folder, name)
    }
}
