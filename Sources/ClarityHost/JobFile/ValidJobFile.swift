public import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// The job file as it was when a scheduler last found it valid, in the state directory.
///
/// While the job file has a fault that concerns all of it, a running loop keeps its jobs, nothing
/// else starts one, and commands that only show something work with this one.
public struct ValidJobFile {
    private let folder: String
    private var path: String { "\(folder)/jobs.valid" }

    /// Creates an access to the copy in a state directory.
    public init(inState directory: String) { folder = directory }

    /// Copies the job file, unless the copy is as new. A pipe is no file that anybody could edit, and
    /// a file that has a fault by now is left to its next reader.
    public func keep(_ jobFile: String, _ reader: JobFileReader) throws(BackupError) {
        var status = stat()
        guard access(folder, W_OK) == 0, stat(jobFile, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG,
            differs(from: status)
        else { return }
        var reader = reader
        reader.skipsAccountFiles = true
        reader.holdsFaulty = true
        let bytes: [UInt8]
        do throws(JobFileFaults) {
            bytes = try reader.bytes(of: jobFile)
            _ = try reader.read(bytes, path: jobFile)
        } catch {
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        // Thirty calls of cron may find the same edit; one of them copies it.
        guard let lock = try ValidJobFile.lock(folder) else { return }
        defer { withExtendedLifetime(lock) {} }
        try DurableFile.replace(path, by: "\(ValidJobFile.mark(jobFile))\n\(text)")
        // By this the next scheduler sees that there is nothing to copy.
        guard utimensat(AT_FDCWD, path, [status.st_mtim, status.st_mtim], 0) == 0 else {
            throw .file(path: path, errno: errno)
        }
    }

    /// Returns the jobs of a job file as they were last valid; `nil` if no scheduler has used it with
    /// this state directory.
    public func read(_ jobFile: String, _ reader: JobFileReader) throws(BackupError) -> JobFile? {
        let mark = "\(ValidJobFile.mark(jobFile))\n"
        guard let text = try DurableFile.text(of: path, atMost: 2 << 20), text.hasPrefix(mark)
        else {
            return nil
        }
        var reader = reader
        reader.holdsFaulty = true
        do throws(JobFileFaults) {
            // Its faults have the places that they had in the job file.
            return try reader.read(Array(text.utf8.dropFirst(mark.utf8.count)), path: jobFile)
        } catch {
            // Its accounts have changed, or this version knows fewer keys.
            return nil
        }
    }

    /// Locks the folder of schedulers' locks, which nobody else locks; `nil` if another process has.
    private static func lock(_ folder: String) throws(BackupError) -> FileLock? {
        do throws(SystemError) {
            return try FileLock.take("\(folder)/owners", LOCK_EX, patience: .zero)
        } catch {
            guard error.code != ENOENT else { return nil }
            throw .file(path: folder, errno: error.code)
        }
    }

    private func differs(from jobFile: stat) -> Bool {
        var own = stat()
        guard stat(path, &own) == 0 else { return true }
        return own.st_mtim.tv_sec != jobFile.st_mtim.tv_sec
            || own.st_mtim.tv_nsec != jobFile.st_mtim.tv_nsec
    }

    private static func mark(_ jobFile: String) -> String { "# The valid text of \(jobFile)" }
}
