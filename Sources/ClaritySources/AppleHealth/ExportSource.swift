@preconcurrency import Glibc

/// Finds the text of an export: in the zip archive that the phone makes, in the folder in it, or
/// in a plain file.
enum ExportSource {
    /// Opens the file or folder at `path` and checks its first bytes.
    ///
    /// - Throws: `SourceError` if there is no export.
    static func open(path: String) throws(SourceError) -> any ByteSource {
        let file = try OpenFile(path: path)
        if file.isFolder { return try inFolder(path) }
        try file.checkHasContents()
        let head = try file.head(ExportSignature.length)
        if head.withUnsafeBufferPointer(ExportSignature.isZip) {
            return ReadAheadSource(try ArchiveSource(file, path: path))
        }
        guard head.withUnsafeBufferPointer(ExportSignature.isExport) else {
            throw .notAnExport(path: path)
        }
        return ReadAheadSource(FileSource(file))
    }

    /// Returns the file at `path`, or the export in the folder there.
    ///
    /// - Throws: `SourceError` for a folder without an export.
    static func file(at path: String) throws(SourceError) -> String {
        guard try OpenFile(path: path).isFolder else { return path }
        return try export(among: try entries(path), in: path).path
    }

    private static func inFolder(_ path: String) throws(SourceError) -> any ByteSource {
        let names = try entries(path)
        let found = try export(among: names, in: path)
        return ReadAheadSource(
            FileSource(found.file, attachments: attachments(path, names, except: found.name)))
    }

    /// Returns the first export among the xml files of a folder, by name.
    private static func export(
        among names: [String], in path: String
    ) throws(SourceError) -> (name: String, path: String, file: OpenFile) {
        for name in names.sorted() where name.lowercased().hasSuffix(".xml") {
            if let file = openExport("\(path)/\(name)") { return (name, "\(path)/\(name)", file) }
        }
        throw .noExportInside(path: path)
    }

    /// Returns the file if it can be read and is an export.
    private static func openExport(_ path: String) -> OpenFile? {
        do throws(SourceError) {
            let file = try OpenFile(path: path)
            guard file.isRegular, file.size > 0 else { return nil }
            let isExport = try file.head(ExportSignature.length)
                .withUnsafeBufferPointer(ExportSignature.isExport)
            return isExport ? file : nil
        } catch {
            // It may be a dangling link beside a sound export.
            return nil
        }
    }

    /// Counts the files beside the export, in its folder and in that folder's folders. A folder
    /// that cannot be listed counts like a file.
    private static func attachments(
        _ path: String, _ names: [String], except export: String
    ) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        func count(_ name: String) { Attachments.count(Array(name.utf8), in: &counts) }
        for name in names where name != export {
            do {
                try entries("\(path)/\(name)").forEach(count)
            } catch {
                count(name)
            }
        }
        return counts
    }

    /// Returns the names in a folder, without those that begin with a dot.
    static func entries(_ path: String) throws(SourceError) -> [String] {
        guard let folder = opendir(path) else {
            throw .unreadable(path: path, reason: String(cString: strerror(errno)).lowercased())
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}

/// The files beside the text of an export; they are counted by sort, and `RouteFiles` reads the routes.
enum Attachments: String, CaseIterable {
    case electrocardiograms
    case workoutRoutes = "workout routes"
    case clinicalRecords = "clinical records"
    /// The same export again, as a CDA document.
    case clinicalDocuments = "clinical documents"
    case others

    /// Finds the sort by the ending of the file's name, because folders may have names in the
    /// phone's language; `nil` for a folder. A name that cannot be read is one of the others.
    init?(name: [UInt8]?) {
        guard let name else {
            self = .others
            return
        }
        if name.last == .slash { return nil }
        let file = name.split(separator: .slash).last ?? []
        let stem = file.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        self =
            if stem.hasEnding(".csv") {
                .electrocardiograms
            } else if stem.hasEnding(".gpx") {
                .workoutRoutes
            } else if stem.hasEnding(".json") {
                .clinicalRecords
            } else if stem == Array("export_cda.xml".utf8) {
                .clinicalDocuments
            } else {
                .others
            }
    }

    /// Counts the file `name`, unless it is a folder.
    static func count(_ name: [UInt8]?, in counts: inout [String: Int64]) {
        guard let sort = Attachments(name: name) else { return }
        counts[sort.rawValue, default: 0] += 1
    }
}

extension [UInt8] {
    fileprivate func hasEnding(_ ending: String) -> Bool {
        suffix(ending.utf8.count).elementsEqual(ending.utf8)
    }
}
