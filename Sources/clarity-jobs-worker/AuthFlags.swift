import ClarityScheduler
import ClarityWorkers

/// `--name value` pairs.
struct AuthFlags {
    /// A flag that is needed and not given.
    struct Missing: Error {
        var name: String
    }

    /// What becomes of the data at a logout.
    enum Data: String {
        case keep, remove
        /// What the person at the terminal says.
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

    /// `nil` for anything but known flags with their values.
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

    /// Whether the answer is to be JSON.
    var isJSON: Bool { ["json", "ndjson"].contains(values["output"]) }

    /// Where the password comes from; the standard input unless given.
    var password: PasswordEntry {
        values["password"].flatMap { PasswordEntry(rawValue: $0) } ?? .input
    }

    /// What becomes of the data; it is kept unless given.
    var data: Data { values["data"].flatMap { Data(rawValue: $0) } ?? .keep }

    func value(_ name: String) throws(Missing) -> String {
        guard let value = values[name], !value.isEmpty else { throw Missing(name: name) }
        return value
    }

    /// The backend's contract, or that it is to be found out.
    func dialect() throws(Failure) -> DialectChoice {
        try WorkOptions.dialect(named: values["dialect"])
    }

    /// Which servers are believed to be the backend; the pins come one on each line.
    func trust() throws(TransportError) -> CurlTransport.Trust {
        try CurlTransport.Trust(authorities: values["ca-bundle"], pinLines: values["pins"])
    }

    /// The wait before a request is repeated, 1 s unless given.
    var retryWait: Duration {
        .milliseconds(values["retry-wait"].flatMap { Int64($0) } ?? 1000)
    }
}
