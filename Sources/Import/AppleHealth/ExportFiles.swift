import Glibc
import HealthStore

/// Why a file beside the text of an export is not kept.
///
/// The raw value is the reason in the report.
enum ExportFileRefusal: String, Error {
    case tooLarge = "too large"
    case unreadable = "damaged, or it cannot be read"
    case notText = "not UTF-8"
    case noRoute = "no GPX"
    case noCurve = "no list of numbers behind a heading"
    case noResource = "no FHIR resource in JSON"
    case noDate = "nothing says of which time it is"
}

/// The files beside the text of an export that are kept: routes, electrocardiograms, clinical records
/// and the CDA document.
struct ExportFiles {
    typealias Text = Result<[UInt8], ExportFileRefusal>

    /// The most bytes of the GPX file of a route: 64 MiB, some 300,000 points.
    static let longestRoute = 64 << 20
    /// The most bytes of any other file: 16 MiB, a hundred times an electrocardiogram.
    static let longestFile = 16 << 20

    /// The export: a zip archive or a folder.
    let place: SourcePlace

    /// Passes the text of each file to `each`, with its sort and the name by which the text of the
    /// export refers to it.
    ///
    /// - Throws: `SourceError` if the archive or the folder cannot be opened; the errors of `each`.
    func forEach(
        _ each: (_ sort: Attachments, _ name: String, _ text: Text) throws -> Void
    ) throws {
        let file = try OpenFile(place)
        if file.isFolder { return try forEach(in: try OpenFolder(place), each) }
        let head = try file.head(ExportSignature.length)
        guard head.withUnsafeBufferPointer(ExportSignature.isZip) else { return }
        let members = try ArchiveMembers(file, path: place.path)
        while try advance(members) {
            guard let name = members.name, let sort = Attachments(name: name), sort.isKept else {
                continue
            }
            try each(sort, ExportFiles.reference(name, sort), text(of: members, sort))
        }
    }

    private func forEach(
        in root: OpenFolder,
        _ each: (_ sort: Attachments, _ name: String, _ text: Text) throws -> Void
    ) throws {
        for name in try ExportSource.entries(root) {
            if Attachments(name: Array(name.utf8)) == .clinicalDocuments {
                try each(.clinicalDocuments, "/\(name)", text(ofFile: name, in: root))
                continue
            }
            let folder: OpenFolder
            let names: [String]
            do throws(SourceError) {
                folder = try OpenFolder(name, below: root)
                names = try ExportSource.entries(folder)
            } catch {
                continue  // A file, or a folder that the reading has counted as one.
            }
            for file in names {
                guard let sort = Attachments(name: Array(file.utf8)), sort.isKept else { continue }
                try each(sort, "/\(name)/\(file)", text(ofFile: file, in: folder, sort))
            }
        }
    }

    /// Moves to the next member. If the archive breaks off behind the export, the files end there.
    private func advance(_ members: ArchiveMembers) throws -> Bool {
        do throws(ByteSourceBreak) {
            return try members.advance()
        } catch {
            return false
        }
    }

    private func text(of members: ArchiveMembers, _ sort: Attachments) -> Text {
        // What is too large is not inflated if the archive says so.
        if let size = members.size, size > sort.longest { return .failure(.tooLarge) }
        var text: [UInt8] = []
        do throws(ByteSourceBreak) {
            while let block = try members.nextBlock() {
                guard text.count + block.count <= sort.longest else { return .failure(.tooLarge) }
                text += block
            }
            return .success(text)
        } catch {
            return .failure(.unreadable)
        }
    }

    private func text(
        ofFile name: String, in folder: OpenFolder, _ sort: Attachments = .clinicalDocuments
    ) -> Text {
        do throws(SourceError) {
            return .success(
                try RegularFile(try OpenFile(name, in: folder)).bytes(atMost: sort.longest))
        } catch .tooLarge {
            return .failure(.tooLarge)
        } catch {
            return .failure(.unreadable)
        }
    }

    /// Returns the folder and the name of a member as the text of the export has them:
    /// `/workout-routes/route_2026-01-31_8.05am.gpx`. The CDA document is beside the text.
    private static func reference(_ name: [UInt8], _ sort: Attachments) -> String {
        let parts = name.split(separator: .slash).suffix(sort == .clinicalDocuments ? 1 : 2)
        return "/" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }
}

extension Attachments {
    /// Whether the archive keeps what is in such a file.
    var isKept: Bool { self != .others }

    fileprivate var longest: Int {
        self == .workoutRoutes ? ExportFiles.longestRoute : ExportFiles.longestFile
    }

    /// What the report calls a file of this sort.
    var element: String {
        switch self {
        case .workoutRoutes: "\(ExportElement.workoutRoute.name)"
        case .electrocardiograms: "Electrocardiogram"
        case .clinicalRecords: KeptFile.clinicalResource
        case .clinicalDocuments: KeptFile.clinicalDocument
        case .others: rawValue
        }
    }
}
