import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite("How far attempts are")
struct ProgressBoardTests {
    private struct Refused: Error {}

    private let board = ProgressBoard()

    private func note(_ done: Int64, of run: Int64 = 1) {
        let start = Instant(secondsSince1970: 0)
        board.note(
            AttemptProgress(done: done, total: 10, since: start, at: start), of: RunID(run), 1)
    }

    /// Returns how far each attempt is that is told at so many milliseconds.
    private func told(at milliseconds: Int64) -> [Int64]? {
        var told: [Int64]?
        board.tell(at: .milliseconds(milliseconds)) { (text: String) throws(Refused) in
            told = text.split(separator: "\n").compactMap { line in
                line.split(separator: " ").dropFirst(2).first.flatMap { Int64($0) }
            }
        }
        return told
    }

    @Test func `progress is told at most each two seconds`() {
        note(1)
        #expect(told(at: 0) == [1])
        note(2)
        #expect(told(at: 1999) == nil)
        note(3)
        #expect(told(at: 2000) == [3])
    }

    @Test func `nothing is told twice`() {
        note(1)

        #expect(told(at: 0) == [1])
        #expect(told(at: 5000) == nil)
    }

    @Test func `the end of an attempt is told at once`() {
        note(1)
        note(5, of: 2)
        #expect(told(at: 0) == [1, 5])

        board.remove(RunID(1))

        #expect(told(at: 10) == [5])
        board.remove(RunID(3))
        #expect(told(at: 20) == nil)
    }

    @Test func `what was not written is told again`() {
        note(1)
        board.tell(at: .zero) { (_: String) throws(Refused) in throw Refused() }

        #expect(told(at: 2000) == [1])
    }
}
