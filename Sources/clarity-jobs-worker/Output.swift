@preconcurrency import Glibc

/// Writes one line of complaint to the error output, in the name under which this program was
/// started: `clarity-jobs` where that became this program for a person.
func complain(_ message: String) {
    let name = CommandLine.arguments.first?.split(separator: "/").last ?? "clarity-jobs-worker"
    printError("\(name): \(message)")
}

func printError(_ text: String) { fputs("\(text)\n", stderr) }

/// The variables that say where the master key is, and where temporary files go.
func keyEnvironment() -> [String: String] {
    var environment: [String: String] = [:]
    for name in ["CREDENTIALS_DIRECTORY", "CLARITY_JOBS_KEY", "TMPDIR"] {
        if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    return environment
}
