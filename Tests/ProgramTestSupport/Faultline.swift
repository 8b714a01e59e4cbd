import ClarityTestSupport
import Glibc
import Testing

/// The fault library, which strikes at named points of the programs' lives.
///
/// All programs that are started with one of its environments share its file of counts.
struct Faultline: Sendable {
    /// A point that a rule can name. The order is that of the library's counts.
    enum Point: String, CaseIterable, Sendable {
        case commit, write, sync, read, open, unlink, rename, send, receive, connect, resolve
        case tell, spawn, start, any
    }

    /// A program that a rule can name. The order is that of the library's counts.
    enum Program: String, CaseIterable, Sendable {
        case scheduler = "clarity-jobs"
        case worker = "clarity-jobs-worker"
        case web = "clarity-jobs-web"
    }

    /// Whether a fault comes before or after what the point names.
    enum When: String, CaseIterable, Sendable { case before, after }

    /// A fault at a point, such as `clarity-jobs-worker:commit:before:7:kill`.
    struct Rule: Hashable, Sendable, CustomStringConvertible {
        /// The program, or `nil` for all.
        var program: Program?
        var point: Point
        var when: When
        /// The number of the passage, from 1, counted over all processes of `program`.
        var nth: Int
        /// Whether it strikes from the `nth` passage on, and not only once.
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
    /// The most rules that the library reads.
    private static let mostRules = 16

    /// The path of the file of counts, which the first program creates.
    let counts: String

    init(counts: String) { self.counts = counts }

    /// Returns the environment that a program needs for these rules.
    ///
    /// - Parameter folder: the folder whose files count; all files without it.
    func environment(rules: [Rule] = [], folder: String? = nil) -> [String: String] {
        environment(texts: rules.map(\.description), folder: folder)
    }

    /// Returns the environment for rules in the library's own notation.
    func environment(texts rules: [String], folder: String? = nil) -> [String: String] {
        var environment = [
            "LD_PRELOAD": Faultline.library, "FAULTLINE_COUNTS": counts,
            "FAULTLINE": rules.joined(separator: ";"),
        ]
        environment["FAULTLINE_FOLDER"] = folder
        return environment
    }

    /// Returns how often a program passed a point, or how often all did if it is `nil`.
    func count(of point: Point, program: Program? = nil) throws -> Int {
        let numbers = try numbers()
        let programs = program.map { [$0] } ?? Program.allCases
        return programs.reduce(0) { sum, program in
            let row = Program.allCases.firstIndex(of: program) ?? 0
            let column = Point.allCases.firstIndex(of: point) ?? 0
            return sum + numbers[row * Point.allCases.count + column]
        }
    }

    /// Returns how often the rule at this index of the environment's list struck.
    func struck(_ index: Int = 0) throws -> Int {
        let first = Program.allCases.count * Point.allCases.count + Faultline.mostRules
        return try numbers()[first + index]
    }

    /// Deletes the counts, so that the next programs start at 0. No program may be running.
    func reset() { unlink(counts) }

    /// Returns all numbers of the file, or zeros if there is no file.
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
