import HealthStore
import Reports
import ClarityScheduler
import Import
import Platform
import ClarityJobs
@preconcurrency import Glibc
import JSON

/// Writes a complaint as one line to the error output, after the name under which this program was
/// started. That is `clarity-jobs` if that program became this one for a person.
func complain(_ message: String) {
    let name = CommandLine.arguments.first?.split(separator: "/").last ?? "clarity-jobs-worker"
    printError("\(name): \(message)")
}

/// Writes lines to the error output.
func printError(_ text: String) {
    fputs("\(fitted(text.printableLines, to: STDERR_FILENO, nil))\n", stderr)
}

/// Writes lines for people to the standard output.
///
/// - Parameter zone: the zone of the account's days, if somebody names it.
func show(_ lines: [String], inZone zone: String? = nil) {
    lines.forEach { print(fitted($0, to: STDOUT_FILENO, zone)) }
}

/// Returns lines as they fit a terminal; as they are if the descriptor is none.
private func fitted(_ text: String, to descriptor: Int32, _ zone: String?) -> String {
    guard let width = TerminalLine.columns(of: descriptor) else { return text }
    var style = PageStyle(width: width, isPlain: true)
    style.times = NearTimes(
        zoneNamed: zone, environment: keyEnvironment(), now: SystemClock().now)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
        .flatMap { style.fitted(String($0)) }.joined(separator: "\n")
}

/// Returns the variables that say where the master key is, where temporary files go, and which time
/// zone this machine has.
///
/// - Parameter named: the variable that contains the key, if a job file names one.
func keyEnvironment(named: String? = nil) -> [String: String] {
    let pointer = "CLARITY_JOBS_KEY_VARIABLE"
    var environment = Environment.values([
        "CREDENTIALS_DIRECTORY", "CLARITY_JOBS_KEY", "TMPDIR", "TZ", "TZDIR", pointer,
        AccountEnvironment.password, AccountEnvironment.wraps, ServerAccount.variable,
    ])
    if let named { environment[pointer] = named }
    if let name = environment[pointer], !name.isEmpty {
        environment[name] = Environment.value(name)
    }
    return environment
}

/// Returns the variables of the key that an order names.
///
/// - Throws: `Failure` for an order that does not fit.
func keyEnvironment(for order: AttemptOrder) throws(Failure) -> [String: String] {
    keyEnvironment(named: try order.sections.key.variable)
}

/// Returns the variables for an order: those of the key, and those with its secrets.
///
/// - Throws: `Failure` for an order that does not fit.
func keyAndSecrets(for order: AttemptOrder) throws(Failure) -> [String: String] {
    var environment = try keyEnvironment(for: order)
    for name in try order.secretNames {
        environment[name] = Environment.value(name)
    }
    return environment
}

extension ExitStatus {
    /// Returns the status of an outcome, and writes its failure to the error output.
    init(_ outcome: Outcome) {
        switch outcome {
        case .success: self = .done
        // The work continues when it may; nothing has failed.
        case .snooze(_, let failure), .awaits(_, let failure):
            complain(failure.reason)
            self = .deferred
        case .retry(_, let failure), .failure(let failure):
            complain(failure.reason)
            self.init(of: failure.category)
        }
    }

    /// Returns the status of an error that ended a command, and writes the error to the error
    /// output. If another process holds the store, the status says that a later try may succeed.
    init(of error: any Error) {
        self.init(outcome(of: error))
        if let error = error as? HealthStoreError, error.isBusy { self = .deferred }
    }

    /// Returns the status of a file that a person named and that cannot be read, and writes why to
    /// the error output.
    init(of error: SourceError) {
        complain(error.description)
        self =
            switch error {
            case .missing: .missingInput
            case .noPermission: .credential
            case .unreadable: .disk
            case .otherTimeZone: .configuration
            case .notAFile, .notAFolder, .notOneFile, .empty, .notAnExport, .notAnAutoExport,
                .noExportInside, .severalExports,
                .unknownKind, .tooLarge, .damaged, .symbolicLink, .hardLink:
                .faultyInput
            }
    }
}

/// `--name value` pairs, each name once, and flags without a value.
struct Flags {
    /// A required flag is missing.
    struct Missing: Error {
        var name: String
    }

    private var values: [String: String] = [:]
    private var switches: Set<String> = []

    /// The values that a flag may have, for flags that have few.
    private static let choices = [
        "output": ["table", "json", "ndjson"], "data": ["keep", "remove", "ask"],
        "password": ["stdin", "ask"],
    ]

    /// Parses the flags; `nil` for anything but flags of these names with valid values.
    init?(_ arguments: [String], values names: [String], switches flags: [String] = []) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else { return nil }
            let name = String(word.dropFirst(2))
            if flags.contains(name) {
                switches.insert(name)
            } else {
                guard names.contains(name), values[name] == nil, let value = rest.popFirst(),
                    Flags.choices[name]?.contains(value) ?? true
                else { return nil }
                values[name] = value
            }
        }
    }

    func has(_ flag: String) -> Bool { switches.contains(flag) }

    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    func value(_ name: String) throws(Missing) -> String {
        guard let value = self[name] else { throw Missing(name: name) }
        return value
    }

    /// The format in which to write the answer; a table by default.
    var format: OutputFormat { values["output"].flatMap(OutputFormat.init(rawValue:)) ?? .table }
}

/// The format in which results are written.
enum OutputFormat: String {
    case table
    case json
    case ndjson

    /// Prints a result: the object as JSON, or the lines for people.
    func print(_ object: @autoclosure () -> JSON, lines: () -> [String]) {
        switch self {
        case .table: show(lines())
        case .json: Swift.print(object().page)
        case .ndjson: Swift.print(object().line)
        }
    }
}
