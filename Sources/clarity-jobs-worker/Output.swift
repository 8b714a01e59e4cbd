import ClarityJobs
@preconcurrency import Glibc

/// Writes one line of complaint to the error output, in the name under which this program was
/// started: `clarity-jobs` where that became this program for a person.
func complain(_ message: String) {
    let name = CommandLine.arguments.first?.split(separator: "/").last ?? "clarity-jobs-worker"
    printError("\(name): \(message)")
}

/// The store, after a word on the error output when opening it sealed an earlier release's rows anew.
func announced(_ store: HealthStore) -> HealthStore {
    if store.wasUpgraded { complain(HealthStore.upgradeNotice) }
    return store
}

/// Writes lines to the error output; U+FFFD stands for what would steer a terminal or turn the
/// direction of the text, since a path or a name can have that in it.
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

/// The variables that say where the master key is, where temporary files go, and which zone this
/// machine is in.
///
/// - Parameters:
///   - named: the variable that has the key, where a job file names one.
///   - others: more variables, which were given as the place of a key.
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
