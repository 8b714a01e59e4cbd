import ClarityJobs
import ClaritySystem
@preconcurrency import Glibc

/// Writes a complaint as one line to the error output, after the name under which this program was
/// started. That is `clarity-jobs` if that program became this one for a person.
func complain(_ message: String) {
    let name = CommandLine.arguments.first?.split(separator: "/").last ?? "clarity-jobs-worker"
    printError("\(name): \(message)")
}

/// Returns the store, after a notice on the error output if opening it encrypted the rows of an
/// earlier release again.
func announced(_ store: HealthStore) -> HealthStore {
    if store.wasUpgraded { complain(HealthStore.upgradeNotice) }
    return store
}

/// Writes lines to the error output.
func printError(_ text: String) { fputs("\(text.printableLines)\n", stderr) }

/// Returns the variables that say where the master key is, where temporary files go, and which time
/// zone this machine has.
///
/// - Parameter named: the variable that contains the key, if a job file names one.
func keyEnvironment(named: String? = nil) -> [String: String] {
    let pointer = "CLARITY_JOBS_KEY_VARIABLE"
    var environment: [String: String] = [:]
    for name in ["CREDENTIALS_DIRECTORY", "CLARITY_JOBS_KEY", "TMPDIR", "TZ", "TZDIR", pointer] {
        environment[name] = variable(name)
    }
    if let named { environment[pointer] = named }
    if let name = environment[pointer], !name.isEmpty { environment[name] = variable(name) }
    return environment
}

private func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
