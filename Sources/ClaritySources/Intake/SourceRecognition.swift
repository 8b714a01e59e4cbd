import ClarityJobs

/// Recognises the kind of a source by its contents.
enum SourceRecognition {
    /// - Throws: `SourceError` if the file cannot be opened, is empty, or is of no known kind.
    static func kind(at path: String) throws(SourceError) -> SourceEntry.Kind {
        let file = try OpenFile(path: path)
        if file.isFolder { return try kind(ofFolder: path) }
        guard file.isRegular else { throw .notAFile(path: path) }
        guard file.size > 0 else { throw .empty(path: path) }
        guard let kind = kind(of: try file.head(path: path)) else {
            throw .unknownKind(path: path)
        }
        return kind
    }

    /// Returns the kind by the first bytes of a file; `nil` if they fit none.
    static func kind(of head: [UInt8]) -> SourceEntry.Kind? {
        let isExport = head.withUnsafeBufferPointer {
            ExportSignature.isZip($0) || ExportSignature.isExport($0)
        }
        if isExport { return .appleHealthExport }
        if HealthAutoExport.isOne(head) { return .healthAutoExport }
        let text = head.starts(with: [0xEF, 0xBB, 0xBF]) ? head[3...] : head[...]
        switch text.first(where: { $0 > 0x20 }) {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .spool
        default: return nil
        }
    }

    /// Returns the kind of a folder. An XML file makes it an Apple Health export; else JSON files
    /// make it one of Health Auto Export.
    private static func kind(ofFolder path: String) throws(SourceError) -> SourceEntry.Kind {
        let names = try OpenFolder(path: path).names { !$0.hasPrefix(".") }.map { $0.lowercased() }
        if names.contains(where: { $0.hasSuffix(".xml") }) { return .appleHealthExport }
        if names.contains(where: { $0.hasSuffix(".json") }) { return .healthAutoExport }
        throw .unknownKind(path: path)
    }
}
