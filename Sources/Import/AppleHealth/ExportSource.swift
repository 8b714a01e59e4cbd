@preconcurrency import Glibc

/// Finds the text of an export: in the zip archive that the phone makes, in the folder in it, or
/// in a plain file.
enum ExportSource {
    /// Opens a file or folder and checks its first bytes.
    ///
    /// - Throws: `SourceError` if there is no export.
    static func open(_ place: SourcePlace) throws(SourceError) -> any ByteSource {
        let path = place.path
        let file = try OpenFile(place)
        if file.isFolder { return try inFolder(place) }
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

    /// Returns the file at `place`, or the export in the folder there.
    ///
    /// - Throws: `SourceError` for a folder without an export.
    static func file(at place: SourcePlace) throws(SourceError) -> SourcePlace {
        guard try OpenFile(place).isFolder else { return place }
        let folder = try OpenFolder(place)
        return place.inside(try export(among: try entries(folder), in: folder).name)
    }

    private static func inFolder(_ place: SourcePlace) throws(SourceError) -> any ByteSource {
        let folder = try OpenFolder(place)
        let names = try entries(folder)
        let found = try export(among: names, in: folder)
        return ReadAheadSource(
            FileSource(found.file, attachments: attachments(folder, names, except: found.name)))
    }

    /// Returns the first export among the xml files of a folder, by name.
    ///
    /// A file that cannot be read may be beside a sound export. Without one, a link is named.
    private static func export(
        among names: [String], in folder: OpenFolder
    ) throws(SourceError) -> (name: String, file: OpenFile) {
        var refused: SourceError?
        for name in names where name.lowercased().hasSuffix(".xml") {
            do throws(SourceError) {
                let file = try OpenFile(name, in: folder)
                guard file.isRegular, file.size > 0 else { continue }
                let isExport = try file.head(ExportSignature.length)
                    .withUnsafeBufferPointer(ExportSignature.isExport)
                if isExport { return (name, file) }
            } catch {
                switch error {
                case .symbolicLink, .hardLink: refused = refused ?? error
                default: continue
                }
            }
        }
        throw refused ?? .noExportInside(path: folder.path)
    }

    /// Counts the files beside the export, in its folder and in that folder's folders. A folder
    /// that cannot be listed counts like a file.
    private static func attachments(
        _ folder: OpenFolder, _ names: [String], except export: String
    ) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        func count(_ name: String) { Attachments.count(Array(name.utf8), in: &counts) }
        for name in names where name != export {
            do throws(SourceError) {
                try entries(try OpenFolder(name, below: folder)).forEach(count)
            } catch {
                count(name)
            }
        }
        return counts
    }

    /// Returns the names in a folder, without those that begin with a dot, in order.
    static func entries(_ folder: OpenFolder) throws(SourceError) -> [String] {
        try folder.names { !$0.hasPrefix(".") }
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
