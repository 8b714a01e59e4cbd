import Glibc

/// Runs Python programs, with which the tests compare this program.
enum Python {
    static let need = "needs python3"

    static let isPresent =
        (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
        .contains { access("\($0)/python3", X_OK) == 0 }

    /// Runs a program to its end.
    ///
    /// - Throws: `Files.Failure` if it fails. Its standard error goes to that of the tests.
    static func run(_ program: String, _ arguments: [String]) throws {
        let words = ["python3", "-c", program] + arguments
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var child: pid_t = 0
        guard posix_spawnp(&child, "python3", nil, nil, &pointers, environ) == 0 else {
            throw Files.Failure(what: "cannot start python3")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw Files.Failure(what: "python3 failed: \(status)") }
    }
}
