import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// The services that failed and have not run since, as empty files in a folder of the state
/// directory.
///
/// They are not in a database, because a service may have failed for want of one, and they are empty,
/// because a full disk still takes them.
struct FailedServices {
    struct Entry: Hashable {
        /// The unit without its instance, which may be the name of a person.
        var unit: String
        /// Why it failed, such as `status 74`.
        var reason: String
        /// When it failed first.
        var since = Instant(secondsSince1970: 0)
        /// Whether the targets were told without a database.
        var isTold = false

        var notice: Notice {
            Notice(
                .serviceFailed, about: unit,
                "the service `\(unit)` failed (\(reason)) and does not run; see its journal")
        }
    }

    private static let folderName = "failed-services"
    private static let told = " told"

    private let directory: String
    private var folder: String { "\(directory)/\(FailedServices.folderName)" }

    init(stateDirectory: String) { directory = stateDirectory }

    /// The entries, by the name of the unit.
    var entries: [Entry] {
        let names: [String]
        do throws(WholeFile.Fault) {
            names = try WholeFile.names(in: folder)
        } catch {
            return []
        }
        return names.compactMap { name in
            let isTold = name.hasSuffix(FailedServices.told)
            let words = name.dropLast(isTold ? FailedServices.told.count : 0)
                .split(separator: " ", maxSplits: 1)
            var status = stat()
            guard words.count == 2, lstat("\(folder)/\(name)", &status) == 0 else { return nil }
            return Entry(
                unit: String(words[0]), reason: String(words[1]).printable,
                since: Instant(secondsSince1970: Int64(status.st_mtim.tv_sec)), isTold: isTold)
        }
    }

    /// Records that a service failed, unless that is known.
    ///
    /// - Returns: the entry of this service.
    func record(_ entry: Entry) throws(StateDirectoryError) -> Entry {
        if let known = entries.first(where: { $0.unit == entry.unit }) { return known }
        let folder = try StateDirectory(path: directory).makeFolder(FailedServices.folderName)
        let path = "\(folder)/\(name(of: entry))"
        let file = open(
            path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { throw StateDirectoryError(path: folder, errno: errno) }
        close(file)
        return entry
    }

    /// Records that the targets were told about an entry without a database.
    func markTold(_ entry: Entry) throws(StateDirectoryError) {
        let path = "\(folder)/\(name(of: entry))"
        guard rename(path, path + FailedServices.told) == 0 else {
            throw StateDirectoryError(path: folder, errno: errno)
        }
    }

    /// Removes the entries for which `isOver` holds. One that cannot be removed stays open.
    func remove(where isOver: (Entry) -> Bool) {
        for entry in entries where isOver(entry) {
            unlink("\(folder)/\(name(of: entry))\(entry.isTold ? FailedServices.told : "")")
        }
    }

    private func name(of entry: Entry) -> String { "\(entry.unit) \(entry.reason)" }
}

extension FailedServices.Entry {
    /// Creates an entry from the name of a unit and what systemd says about its end (systemd.exec(5),
    /// `$MONITOR_SERVICE_RESULT`); `nil` if it is no name of a service.
    init?(unit: String, environment: [String: String]) {
        let parts = unit.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.count == 2 ? "\(parts[0])@.service" : unit
        guard name.utf8.areLettersDigits(or: ":-_.@\\"), unit.hasSuffix(".service"), unit.count > 8,
            name.count < 200
        else {
            return nil
        }
        self.init(unit: name, reason: Self.reason(environment))
    }

    private static func reason(_ environment: [String: String]) -> String {
        let status = environment["MONITOR_EXIT_STATUS"] ?? ""
        let word =
            switch environment["MONITOR_SERVICE_RESULT"] {
            case "exit-code": "status \(status)"
            case "signal", "core-dump": "signal \(status)"
            case "start-limit-hit": "again and again"
            case "watchdog": "it hung"
            case let other?: other
            case nil: "for an unknown reason"
            }
        return String(
            word.filter { $0.isASCII && ($0.isLetter || $0.isNumber || " -".contains($0)) })
    }
}

extension Composition {
    func failedServices(_ file: JobFile) -> FailedServices {
        FailedServices(stateDirectory: statePath(file))
    }
}
