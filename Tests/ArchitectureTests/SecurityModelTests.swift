import ClarityTestSupport
import Glibc
import Testing

/// Checks that each row of the threat model names the tests or files that prove it.
@Suite("The threat model")
struct SecurityModelTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    private static func lines() throws -> [Substring] {
        String(decoding: try TemporaryFolder.read("\(root)/docs/security.md"), as: UTF8.self)
            .split(separator: "\n")
    }

    /// Counts the attackers and the tables, and returns the rows without heads and rules.
    private static func attacks() throws -> (attackers: Int, tables: Int, rows: [Substring]) {
        let lines = try lines()
            .drop { $0 != "## Who attacks, and what stands in the way" }.dropFirst()
            .prefix { !$0.hasPrefix("## ") }
        let table = lines.filter { $0.hasPrefix("|") }
        let rows = table.filter { $0 != head && $0 != "|---|---|---|" }
        return (
            lines.count { $0.hasPrefix("### ") }, table.count { $0 == head }, rows
        )
    }

    /// Returns the rows of the table of promises.
    private static func promises() throws -> [Substring] {
        let head = "| asset | attacker | promise | how it is tested | what is not promised |"
        return try lines().drop { $0 != head }.dropFirst(2).prefix { $0.hasPrefix("|") }.map { $0 }
    }

    private static let head = "| attack | what is defended | shown by |"

    /// Returns the paths in one cell of a row, or `nil` unless the row has `count` cells.
    private static func proofs(_ row: Substring, cell: Int, of count: Int) -> [Substring]? {
        let cells = row.split(separator: "|", omittingEmptySubsequences: false)
        guard cells.count == count + 2, cells[0].isEmpty, cells[count + 1].isEmpty else {
            return nil
        }
        return cells[cell].split(separator: ",").map { cell in
            let path = cell.drop { $0 == " " }
            return path.hasSuffix(" ") ? path.dropLast() : path
        }
    }

    @Test func `each attacker has a table`() throws {
        let (attackers, tables, _) = try SecurityModelTests.attacks()

        #expect(attackers > 0)
        #expect(tables == attackers)
    }

    @Test func `each defence and promise names tests or files that exist`() throws {
        let (_, _, rows) = try SecurityModelTests.attacks()
        let promises = try SecurityModelTests.promises()

        #expect(!rows.isEmpty && !promises.isEmpty)
        let all =
            rows.map { ($0, SecurityModelTests.proofs($0, cell: 3, of: 3)) }
            + promises.map { ($0, SecurityModelTests.proofs($0, cell: 4, of: 5)) }
        for (row, found) in all {
            let proofs = found ?? []
            #expect(!proofs.isEmpty, "\(row)")
            for path in proofs {
                // An empty path must not pass: the repository's root exists.
                let isThere =
                    path.contains("/") && access("\(SecurityModelTests.root)/\(path)", R_OK) == 0
                #expect(isThere, "\(path): \(row)")
            }
        }
    }
}
