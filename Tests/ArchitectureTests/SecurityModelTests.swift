import ClarityTestSupport
import Glibc
import Testing

/// Each row of the threat model names what shows it.
@Suite("The threat model")
struct SecurityModelTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    /// The last cells of the tables' rows.
    private static func proofs() throws -> [String] {
        let text = String(
            decoding: try TemporaryFolder.read("\(root)/docs/SECURITY.md"), as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count == 3, let last = cells.last else { return nil }
            let words = last.split(separator: " ")
            return words.count == 1 && last.contains("/") ? words.first.map(String.init) : nil
        }
    }

    @Test func `what shows a defence exists`() throws {
        let proofs = try SecurityModelTests.proofs()

        #expect(proofs.count > 20)
        #expect(proofs.filter { access("\(SecurityModelTests.root)/\($0)", R_OK) != 0 } == [])
    }
}
