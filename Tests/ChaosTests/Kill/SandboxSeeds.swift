import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// The databases of new sandboxes, created once for each contract.
///
/// The password of the demo person is hashed with one iteration instead of the usual thousands.
/// Otherwise a thousand rounds that start a sandbox and log in would do little else than hash.
actor SandboxSeeds {
    private var files: [[String]: Task<[UInt8], any Error>] = [:]

    /// Returns the bytes of `sandbox.db`.
    func file(_ options: [String]) async throws -> [UInt8] {
        if let known = files[options] { return try await known.value }
        let task = Task { try await SandboxSeeds.make(options) }
        files[options] = task
        return try await task.value
    }

    private static func make(_ options: [String]) async throws -> [UInt8] {
        let playground = try await Playground(sandboxOptions: options, isInMemory: true)
        let path = "\(playground.folder.path)/seed.db"
        let database = try FileConnection(
            path: "\(playground.folder.path)/sandbox/sandbox.db", access: .readWrite)
        // `Demo-Passw0rd!` by PBKDF2 with HMAC-SHA-256, the salt `clarity-sandbox!`, one iteration.
        try database.execute(
            """
            UPDATE users SET iterations = 1, salt = CAST('clarity-sandbox!' AS BLOB),
                password = x'4ac822d1bd94c7a27a1804fddbbf9c7ebb60ebc722dc8eef27d9c2763aabe86f'
            WHERE email = 'demo@example.com'
            """)
        try database.execute("VACUUM INTO '\(path)'")
        return try TemporaryFolder.read(path)
    }
}
