public import ClarityJobs
public import ClarityScheduler

@preconcurrency import Glibc

/// An Apple Health export: the zip archive that the phone makes, the folder in it, or its xml file.
///
/// It is read as a stream, in constant memory (about 1 MiB, with the longest tag and some 15 MB for
/// 65,536 blood pressures on top), and nothing is written to disk. Blood pressures come last, since
/// their halves stand apart in the text; all else comes in the order of the text, which may hold
/// the same sample more than once.
public struct AppleHealthExport: Sendable {
    private let path: String
    private let now: Instant

    /// Names an export; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - path: The file or folder.
    ///   - now: The instant after which no sample can have begun.
    public init(path: String, now: Instant) {
        self.path = path
        self.now = now
    }

    /// Hands over each sample and gives the account of all records.
    ///
    /// A source that breaks off (a truncated archive, a wrong checksum) is no error: what was read
    /// before stands, and `SourceReport.brokeAt` says where it broke.
    ///
    /// - Parameters:
    ///   - progress: Told after each piece of 256 KiB or less.
    ///   - each: Called for each sample.
    /// - Throws: `SourceError` when there is nothing to read; what `progress` or `each` throws, which
    ///   stops the reading.
    public func read(
        progress: ((SourceProgress) throws -> Void)? = nil, _ each: (Sample) throws -> Void
    ) throws -> SourceReport {
        var reading = ExportReading(
            source: try source(path), mapper: RecordMapper(now: now), progress: progress)
        return try reading.run(each)
    }

    private func source(_ path: String) throws(SourceError) -> any ByteSource {
        let file = try OpenFile(path: path)
        if file.isFolder { return try sourceInFolder() }
        guard file.isRegular else { throw .notAFile(path: path) }
        guard file.size > 0 else { throw .empty(path: path) }
        let head = try file.head(path: path)
        if head.withUnsafeBufferPointer(ExportSignature.isZip) {
            return try ArchiveSource(file, path: path)
        }
        guard head.withUnsafeBufferPointer(ExportSignature.isExport) else {
            throw .notAnExport(path: path)
        }
        return FileSource(file)
    }

    /// The first export among the xml files of the folder, by name.
    private func sourceInFolder() throws(SourceError) -> any ByteSource {
        for name in try xmlFiles() {
            let file = try OpenFile(path: "\(path)/\(name)")
            guard file.isRegular else { continue }
            let head = try file.head(path: "\(path)/\(name)")
            if head.withUnsafeBufferPointer(ExportSignature.isExport) { return FileSource(file) }
        }
        throw .noExportInside(path: path)
    }

    private func xmlFiles() throws(SourceError) -> [String] {
        guard let folder = opendir(path) else {
            throw .unreadable(path: path, reason: String(cString: strerror(errno)).lowercased())
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.lowercased().hasSuffix(".xml") { names.append(name) }
        }
        return names.sorted()
    }
}
