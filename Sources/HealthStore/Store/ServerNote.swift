import Database
import Platform
@preconcurrency import Glibc
import Synchronization

/// Where the note of an audit log's end is, outside of the database.
protocol EndNote: Sendable {
    /// Whether the log may have got entries that are not noted.
    var isOwed: Bool { get }

    /// Returns the note to compare a log with; `nil` while none counts.
    func note(of connection: Connection, _ cipher: Cipher) throws -> AuditMark.Note?

    /// Replaces the note, in one write.
    ///
    /// - Returns: `false` if it could not be written.
    func write(note: [UInt8]) -> Bool

    /// Says that the note is that of the log's end.
    func settle()
}

/// The note of the end of an account's log on a server, which one machine keeps in the account's
/// state directory.
///
/// Several machines add entries. So each knows the log at least up to what it has written or seen
/// itself, and a log that ends before that was cut.
///
/// A note belongs to an era. A new one begins with each change of the master key, and when a person
/// accepts a state that was put back. A note of an earlier era counts no more, and one of a later
/// era says that an older state was put back.
final class ServerNote: EndNote {
    private struct State {
        var file: FileLock?
        /// The era of the log; `nil` before it is known.
        var era: Int64?
        var isOwed = true
    }

    private let folder: String
    private let state = Mutex(State())

    init(in folder: String) { self.folder = folder }

    // The log is asked for its note before it is written to.

    var isOwed: Bool { state.withLock { $0.isOwed } }

    func settle() { state.withLock { $0.isOwed = false } }

    func note(of connection: Connection, _ cipher: Cipher) throws -> AuditMark.Note? {
        let known = state.withLock { state in
            state.isOwed = true
            return state.era
        }
        let era = try known ?? self.era(connection, cipher)
        state.withLock { $0.era = era }
        let content = try file().note
        let none = AuditMark.Note(content: [], isExpected: false)
        var reader = ByteReader(content)
        guard let noted = reader.number(Int64.self), noted >= era else { return none }
        // What is of a later era is no note of this one, whatever key made it.
        let mark = noted == era ? Array(content.dropFirst(8)) : [0]
        return AuditMark.Note(content: mark, isExpected: false, foreign: .other)
    }

    func write(note: [UInt8]) -> Bool {
        state.withLock { state in
            guard let file = state.file, let era = state.era else { return false }
            var content: [UInt8] = []
            content.append(littleEndian: era)
            return file.write(note: content + note)
        }
    }

    /// Begins an era for which no note of before counts, in the current transaction.
    func beginEra(_ connection: Connection, _ cipher: Cipher) throws {
        var reader = ByteReader(try file().note)
        let changes = Int64(cipher.indexKeys.count - 1)
        let next = max(try era(connection, cipher), reader.number(Int64.self) ?? 0) &+ 1
        var text = [KeyCheck.acceptedMark]
        text.append(littleEndian: next &- changes)
        try KeyCheck.write(text, connection, cipher)
        state.withLock { $0.era = next }
    }

    /// Each change of the master key leaves one former key, and the key check says by how much
    /// restores have raised the number.
    private func era(_ connection: Connection, _ cipher: Cipher) throws -> Int64 {
        let text = try KeyCheck.text(connection, cipher) ?? []
        var reader = ByteReader(Array(text.dropFirst()))
        let raised = text.first == KeyCheck.acceptedMark ? reader.number(Int64.self) ?? 0 : 0
        return Int64(cipher.indexKeys.count - 1) + raised
    }

    private func file() throws -> FileLock {
        if let file = state.withLock({ $0.file }) { return file }
        _ = try StateDirectory(path: folder)
        let file: FileLock
        do throws(SystemError) {
            file = try FileLock(
                opening: "\(folder)/\(AuditMark.serverFile)", O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch {
            throw StateDirectoryError(path: folder, errno: error.code)
        }
        state.withLock { $0.file = file }
        return file
    }
}
