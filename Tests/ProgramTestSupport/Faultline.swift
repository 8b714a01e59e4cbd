import ClarityTestSupport
import Glibc
import Testing

/// The library that strikes at named points of the programs' lives, as tests use it.
///
/// Its file of counts is shared by all the programs that were started with one of its environments.
struct Faultline: Sendable {
    /// What a rule can be about; the order is that of the library's counts.
    enum Point: String, CaseIterable, Sendable {
        case commit, write, sync, read, open, unlink, rename, send, receive, connect, resolve
        case tell, spawn, start, any
    }

    /// Whose life it is; the order is that of the library's counts.
    enum Program: String, CaseIterable, Sendable {
        case scheduler = "clarity-jobs"
        case worker = "clarity-jobs-worker"
    }

    /// Whether a fault comes before what the point names or after it.
    enum When: String, CaseIterable, Sendable { case before, after }

    /// A fault at a point: `clarity-jobs-worker:commit:before:7:kill`.
    struct Rule: Hashable, Sendable, CustomStringConvertible {
        /// `nil` for both.
        var program: Program?
        var point: Point
        var when: When
        /// From 1, counted over all the processes of `program`.
        var nth: Int
        /// Whether it strikes from the nth on, and not once.
        var goesOn = false
        /// `kill`, `kill-parent`, `kill-both`, `stop`, `short`, or the name of an errno.
        var action: String

        var description: String {
            let nth = "\(nth)\(goesOn ? "+" : "")"
            return "\(program?.rawValue ?? "*"):\(point):\(when):\(nth):\(action)"
        }
    }

    /// The library, which is built with the tests.
    static var library: String { "\(ChildProgram.folder)/libFaultline.so" }
    /// The most rules that a program heeds.
    private static let mostRules = 16

    /// Where the counts are; made by the first program that counts.
    let counts: String

    init(counts: String) { self.counts = counts }

    /// What a program needs in its environment for these rules.
    ///
    /// - Parameter folder: the folder whose files count; every one's without it.
    func environment(rules: [Rule] = [], folder: String? = nil) -> [String: String] {
        environment(texts: rules.map(\.description), folder: folder)
    }

    /// The same for rules as the library reads them.
    func environment(texts rules: [String], folder: String? = nil) -> [String: String] {
        var environment = [
            "LD_PRELOAD": Faultline.library, "FAULTLINE_COUNTS": counts,
            "FAULTLINE": rules.joined(separator: ";"),
        ]
        environment["FAULTLINE_FOLDER"] = folder
        return environment
    }

    /// How often a point was passed by a program; by both without one.
    func count(of point: Point, program: Program? = nil) throws -> Int {
        let numbers = try numbers()
        let programs = program.map { [$0] } ?? Program.allCases
        return programs.reduce(0) { sum, program in
            let row = Program.allCases.firstIndex(of: program) ?? 0
            let column = Point.allCases.firstIndex(of: point) ?? 0
            return sum + numbers[row * Point.allCases.count + column]
        }
    }

    /// How often the rule at this place of the environment's list struck.
    func struck(_ index: Int = 0) throws -> Int {
        let first = Program.allCases.count * Point.allCases.count + Faultline.mostRules
        return try numbers()[first + index]
    }

    /// Forgets the counts, for the next programs to begin anew. None must be running.
    func reset() { unlink(counts) }

    /// All that is in the file, 0 while there is none.
    private func numbers() throws -> [Int] {
        let size = Program.allCases.count * Point.allCases.count + 2 * Faultline.mostRules
        guard access(counts, F_OK) == 0 else { return Array(repeating: 0, count: size) }
        let bytes = try TemporaryFolder.read(counts)
        try #require(bytes.count == size * 8, "the library counts otherwise than this file")
        return bytes.withUnsafeBytes { all in
            (0..<size).map { Int(all.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
        }
    }
}
