import CArchive
import Glibc

/// The GPX files of workout routes beside the text of an export.
struct RouteFiles {
    /// The most bytes of one file: 64 MiB, some 300,000 points. A longer file is left out.
    private static let longest: Int64 = 64 << 20

    /// The export: a zip archive or a folder.
    let place: SourcePlace

    /// Passes the text of each file to `each`, with the name by which a workout refers to it; `nil`
    /// for a file that cannot be read.
    ///
    /// - Throws: `SourceError` if the archive or the folder cannot be opened; the errors of `each`.
    func forEach(_ each: (_ name: String, _ text: [UInt8]?) throws -> Void) throws {
        let file = try OpenFile(place)
        if file.isFolder { return try forEach(inFolder: each) }
        let head = try file.head(ExportSignature.length)
        guard head.withUnsafeBufferPointer(ExportSignature.isZip) else { return }
        let members = try ArchiveMembers(file, path: place.path)
        while try advance(members) {
            guard let name = members.name, Attachments(name: name) == .workoutRoutes else {
                continue
            }
            try each(RouteFiles.reference(name), text(of: members))
        }
    }

    private func forEach(
        inFolder each: (_ name: String, _ text: [UInt8]?) throws -> Void
    ) throws {
        let root = try OpenFolder(place)
        for folderName in try ExportSource.entries(root) {
            let folder: OpenFolder
            let names: [String]
            do throws(SourceError) {
                folder = try OpenFolder(folderName, below: root)
                names = try ExportSource.entries(folder)
            } catch {
                continue  // A file, or a folder that the reading has counted as one.
            }
            for name in names where Attachments(name: Array(name.utf8)) == .workoutRoutes {
                try each("/\(folderName)/\(name)", text(ofFile: name, in: folder))
            }
        }
    }

    /// Moves to the next member. If the archive breaks off behind the export, the routes end there.
    private func advance(_ members: ArchiveMembers) throws -> Bool {
        do throws(ByteSourceBreak) {
            return try members.advance()
        } catch {
            return false
        }
    }

    private func text(of members: ArchiveMembers) -> [UInt8]? {
        var text: [UInt8] = []
        do throws(ByteSourceBreak) {
            while let block = try members.nextBlock() {
                guard Int64(text.count + block.count) <= RouteFiles.longest else { return nil }
                text += block
            }
            return text
        } catch {
            return nil
        }
    }

    private func text(ofFile name: String, in folder: OpenFolder) -> [UInt8]? {
        do throws(SourceError) {
            return try RegularFile(try OpenFile(name, in: folder)).bytes(
                atMost: Int(RouteFiles.longest))
        } catch {
            return nil
        }
    }

    /// Returns the folder and the name of a member as a workout's `FileReference` has them:
    /// `/workout-routes/route_2026-01-31_8.05am.gpx`.
    private static func reference(_ name: [UInt8]) -> String {
        let parts = name.split(separator: .slash).suffix(2)
        return "/" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }
}
