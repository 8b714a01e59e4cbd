public import Database
import Foundation

/// The state files of 0.1.0, as `Tests/Releases` keeps them.
public enum FirstRelease {
    /// The folder with the files of every release.
    public static let folder = "\(root)/Tests/Releases"

    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    /// Unpacks the files of a release into a folder.
    public static func unpack(_ archive: String, into target: String) throws {
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/bin/tar")
        tar.arguments = ["-C", target, "--no-same-owner", "-xzf", "\(folder)/\(archive)"]
        tar.environment = ["PATH": "/usr/bin:/bin"]
        try tar.run()
        tar.waitUntilExit()
        guard tar.terminationStatus == 0 else { throw CocoaError(.fileReadCorruptFile) }
    }

    /// Makes the tables of a state file of 0.1.0, without rows, in an empty database.
    public static func make(_ name: String, in connection: FileConnection) throws {
        let unpacked = try TemporaryFolder()
        try unpack("0.1.0.tgz", into: unpacked.path)
        let file = try FileConnection(
            path: "\(unpacked.path)/state/\(name)", access: .immutable)
        let statements = try file.all(
            """
            SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
            ORDER BY rowid
            """
        ) { $0.text(0) }
        let numbers = try file.first(
            """
            SELECT application_id, user_version
            FROM pragma_application_id, pragma_user_version
            """
        ) { ($0.integer(0), $0.integer(1)) }
        guard let (applicationID, version) = numbers else {
            throw CocoaError(.fileReadCorruptFile)
        }
        try connection.transaction {
            for statement in statements { try connection.execute(statement) }
            try connection.execute(
                """
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(version);
                """)
        }
    }
}
