import ClarityJobs
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

/// Writes lines to the error output. Characters that control a terminal or change the direction of
/// the text become U+FFFD, because a path or a name may contain them.
func printError(_ text: String) {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        switch scalar.properties.generalCategory {
        case .control where scalar == "\n": shown.append(scalar)
        case .control, .format, .lineSeparator, .paragraphSeparator: shown.append("\u{FFFD}")
        default: shown.append(scalar)
        }
    }
    fputs("\(String(shown))\n", stderr)
}

/// Returns the variables that say where the master key is, where temporary files go, and which time
/// zone this machine has.
///
/// - Parameters:
///   - named: the variable that contains the key, if a job file names one.
///   - others: further variables that were given as the place of a key.
func keyEnvironment(named: String? = nil, _ others: String...) -> [String: String] {
    let pointer = "CLARITY_JOBS_KEY_VARIABLE"
    var environment: [String: String] = [:]
    let names = ["CREDENTIALS_DIRECTORY", "CLARITY_JOBS_KEY", "TMPDIR", "TZ", "TZDIR", pointer]
    for name in names + others {
        environment[name] = variable(name)
    }
    if let named { environment[pointer] = named }
    if let name = environment[pointer], !name.isEmpty { environment[name] = variable(name) }
    return environment
}

private func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
