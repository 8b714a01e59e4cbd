@preconcurrency import Glibc

/// Writes one line of complaint to the error output.
func complain(_ message: String) { printError("clarity-jobs-worker: \(message)") }

func printError(_ text: String) { fputs("\(text)\n", stderr) }

/// The variables that say where the master key is, and where temporary files go.
func keyEnvironment() -> [String: String] {
    var environment: [String: String] = [:]
    for name in ["CREDENTIALS_DIRECTORY", "CLARITY_JOBS_KEY", "TMPDIR"] {
        if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    return environment
}
