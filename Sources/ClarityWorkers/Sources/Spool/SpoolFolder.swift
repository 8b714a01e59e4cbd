import ClarityJobs
import ClarityScheduler
import Glibc

/// A folder into which any program moves files of samples.
///
/// A file is taken when its name ends in `.ndjson` or `.json`; names that begin with a dot, and all
/// others, are not looked at, so that a writer has a place of its own beside its goal. A file that
/// was taken goes to `done/`; one with a bad sample to `rejected/`, with what is wrong beside it.
struct SpoolFolder {
    static let doneName = "done"
    static let rejectedName = "rejected"

    private let folder: OpenFolder

    /// Opens the folder.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFolder`, `unreadable`.
    init(path: String) throws(SourceError) { folder = try OpenFolder(path: path) }

    /// Whether a file of this name is taken.
    static func takes(_ name: String) -> Bool {
        let lowered = name.lowercased()
        return !name.hasPrefix(".") && (lowered.hasSuffix(".ndjson") || lowered.hasSuffix(".json"))
            && name.utf8.count <= 200
    }

    /// Whether a file of this name is read whole, as a list or one object.
    static func isList(_ name: String) -> Bool { name.lowercased().hasSuffix(".json") }

    /// The names of the files that wait, in their order.
    ///
    /// Only regular files that are not empty: a link could lead anywhere, and an empty file is one
    /// that somebody is about to write.
    func waiting() throws(SourceError) -> [String] {
        try folder.names(where: SpoolFolder.takes).filter { name in
            folder.stamp(of: name).map { $0.isRegular && $0.size > 0 } ?? false
        }
    }

    /// How many files were rejected and are still there.
    func rejected() throws(SourceError) -> Int {
        let rejected: OpenFolder
        do throws(SourceError) {
            rejected = try OpenFolder(SpoolFolder.rejectedName, in: folder, makes: false)
        } catch .missing {
            return 0
        }
        return try rejected.names(where: SpoolFolder.takes).count
    }

    /// Opens a file that waits.
    func open(_ name: String) throws(SourceError) -> RegularFile {
        try RegularFile(name, in: folder)
    }

    /// Moves a file away whose samples are in the outbox.
    ///
    /// What stands at the name by now must be the file that was read, as it was: a writer may have
    /// put another one there, which then waits for its own turn.
    ///
    /// - Parameter faults: what is wrong with it, for the file beside it; `nil` when nothing is.
    /// - Returns: whether it was moved.
    func settle(
        _ name: String, _ stamp: RegularFile.Stamp?, faults: String?
    ) throws(SourceError) -> Bool {
        guard let stamp, folder.stamp(of: name) == stamp else { return false }
        let target = try OpenFolder(
            faults == nil ? SpoolFolder.doneName : SpoolFolder.rejectedName, in: folder,
            makes: true)
        let newName = try SpoolFolder.reserve(name, in: target)
        do throws(SourceError) {
            if let faults { try target.write("\(newName).reason", faults) }
            try folder.move(name, to: target, newName)
        } catch {
            if faults != nil { target.remove("\(newName).reason") }
            target.remove(newName)
            throw error
        }
        // Between the look and the move somebody can have put a newer file there.
        if let moved = target.stamp(of: newName), moved != stamp, folder.stamp(of: name) == nil {
            try target.move(newName, to: folder, name)
            target.remove("\(newName).reason")
            return false
        }
        return true
    }

    /// A name that nothing has in a folder, taken by an empty file: `steps.json`, `steps-2.json`.
    private static func reserve(_ name: String, in folder: OpenFolder) throws(SourceError) -> String
    {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        for number in 1...100_000 {
            let candidate = number == 1 ? name : "\(name[..<dot])-\(number)\(name[dot...])"
            guard folder.stamp(of: "\(candidate).reason") == nil else { continue }
            if try folder.reserve(candidate) { return candidate }
        }
        throw .unreadable(path: folder.path, reason: "it has too many files of one name")
    }
}
