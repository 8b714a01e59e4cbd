import Platform
@preconcurrency import Glibc

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
