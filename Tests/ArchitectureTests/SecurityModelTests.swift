import ClarityTestSupport
import Glibc
import Testing

/// Checks that each row of the threat model names the tests or files that prove it.
@Suite("The threat model")
struct SecurityModelTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    /// Counts the attackers and the tables, and returns the rows without heads and rules.
    private static func attacks() throws -> (attackers: Int, tables: Int, rows: [Substring]) {
        let text = String(
            decoding: try TemporaryFolder.read("\(root)/docs/security.md"), as: UTF8.self)
        let lines = text.split(separator: "\n")
            .drop { $0 != "## Who attacks, and what stands in the way" }.dropFirst()
            .prefix { !$0.hasPrefix("## ") }
        let table = lines.filter { $0.hasPrefix("|") }
        let rows = table.filter { $0 != head && $0 != "|---|---|---|" }
        return (
            lines.count { $0.hasPrefix("### ") }, table.count { $0 == head }, rows
        )
    }

    private static let head = "| attack | what is defended | shown by |"

    /// Returns the paths in a row's last cell, or `nil` unless the row has three cells.
    private static func proofs(_ row: Substring) -> [Substring]? {
        let cells = row.split(separator: "|", omittingEmptySubsequences: false)
        guard cells.count == 5, cells[0].isEmpty, cells[4].isEmpty else { return nil }
        return cells[3].split(separator: ",").map { cell in
            let path = cell.drop { $0 == " " }
            return path.hasSuffix(" ") ? path.dropLast() : path
        }
    }

    @Test func `each attacker has a table`() throws {
        let (attackers, tables, _) = try SecurityModelTests.attacks()

        #expect(attackers > 0)
        #expect(tables == attackers)
    }

    @Test func `what shows a defence exists, and no row goes without`() throws {
        let (_, _, rows) = try SecurityModelTests.attacks()

        #expect(!rows.isEmpty)
        for row in rows {
            let proofs = SecurityModelTests.proofs(row) ?? []
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
