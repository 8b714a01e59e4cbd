/// The files beside the text of an export; they are counted by sort and never read.
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
