import ClarityContract
import ClarityJobs
import ClarityScheduler
import ClarityTransport
import ClarityWorkers

/// The flags of `auth`: `--name value` pairs.
struct AuthFlags {
    /// A required flag is missing.
    struct Missing: Error {
        var name: String
    }

    /// What a logout does with the data.
    enum Data: String {
        case keep, remove
        /// Asks the person at the terminal.
        case ask
    }

    private static let names = [
        "email", "password", "backend", "dialect", "ca-bundle", "pins", "state", "retry-wait",
        "data", "output",
    ]
    private static let choices = [
        "output": ["table", "json", "ndjson"], "data": ["keep", "remove", "ask"],
        "password": ["stdin", "ask"],
    ]
    private var values: [String: String] = [:]

    /// Parses the flags; `nil` for anything but known flags with valid values.
    init?(_ arguments: [String]) {
        guard arguments.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: arguments.count, by: 2) {
            let name = String(arguments[index].dropFirst(2))
            let value = arguments[index + 1]
            guard arguments[index].hasPrefix("--"), AuthFlags.names.contains(name),
                values[name] == nil, AuthFlags.choices[name]?.contains(value) ?? true
            else { return nil }
            values[name] = value
        }
        guard values["retry-wait"].map({ (1...60_000).contains(Int64($0) ?? 0) }) ?? true else {
            return nil
        }
    }

    /// Whether to write the answer as JSON.
    var isJSON: Bool { ["json", "ndjson"].contains(values["output"]) }

    /// Where the password comes from; the standard input by default.
    var password: PasswordEntry {
        values["password"].flatMap { PasswordEntry(rawValue: $0) } ?? .input
    }

    /// What a logout does with the data; it is kept by default.
    var data: Data { values["data"].flatMap { Data(rawValue: $0) } ?? .keep }

    func value(_ name: String) throws(Missing) -> String {
        guard let value = values[name], !value.isEmpty else { throw Missing(name: name) }
        return value
    }

    /// Returns the backend's dialect, or that it is to be detected.
    func dialect() throws(Failure) -> DialectChoice {
        try JobOptions.dialect(named: values["dialect"])
    }

    /// Returns which servers to trust as the backend; each line has one pin.
    func trust() throws(TransportError) -> CurlTransport.Trust {
        try CurlTransport.Trust(authorities: values["ca-bundle"], pinLines: values["pins"])
    }

    /// The wait before a request is retried; 1 s by default.
    var retryWait: Duration {
        .milliseconds(values["retry-wait"].flatMap { Int64($0) } ?? 1000)
    }
}
