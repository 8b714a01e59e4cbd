import ClarityScheduler

/// What is known around a job file while it is read.
struct DecodingContext: Sendable {
    /// The home folder, for `~/`.
    var home: String
    /// The job file's folder, from which relative paths count.
    var folder: String
    var zones: any ZoneSource
    /// The zone of schedules and windows for which the file names none.
    var localZone: String
    /// What tells this machine from others.
    var host: String
    /// The present time, when the caller wants warnings.
    var now: Instant?
}

/// A value that a job file gives to a key.
///
/// `value` is `nil` where the key is there but its value is at fault, which has then been reported:
/// so nothing that builds on it reports it again as missing.
struct Field<Value: Sendable>: Sendable {
    var position: YAMLNode.Position
    var value: Value?
}

/// Where in the file a value is: `timeout` of job `a`.
///
/// Put into words only by who has something to report: a file without fault needs none.
indirect enum CodingPath: Sendable {
    case file
    /// A job by its id, as it stands in the file.
    case job(String)
    /// A check by its name, as it stands in the file.
    case check(String)
    case value(key: String, of: CodingPath)
    /// An entry of a list, from 1.
    case entry(Int, of: CodingPath)

    /// The key, or for an entry of a list that of the list.
    var key: String {
        switch self {
        case .file, .job, .check: text
        case .value(let key, _): key
        case .entry(_, let list): list.key
        }
    }

    /// The whole, for messages on its form.
    var text: String {
        switch self {
        case .file: "the job file"
        case .job(let id): "job \(shown(id))"
        case .check(let name): "check \(shown(name))"
        case .value(let key, .file): shown(key)
        case .value(let key, let owner): "\(shown(key)) of \(owner.text)"
        case .entry(let number, let list): "entry \(number) of \(list.text)"
        }
    }
}

/// One reading of a job file: its surroundings and the faults found so far.
struct Decoding: Sendable {
    let context: DecodingContext
    private(set) var faults: [JobFileFault] = []
    private(set) var warnings: [JobFileFault] = []
    private var known: Set<JobFileFault> = []

    /// Beyond so many faults nobody reads on, and looking for near names would only take time.
    private static let mostFaultsWithSuggestions = 200

    init(_ context: DecodingContext) { self.context = context }

    /// Records a fault.
    mutating func report(
        _ position: YAMLNode.Position, _ message: String, help: String? = nil
    ) {
        faults.append(JobFileFault(position, message, help: help))
    }

    /// Records that a setting can never take effect. The same warning at the same place is recorded
    /// once: several jobs may inherit the setting.
    mutating func warn(_ position: YAMLNode.Position, _ message: String, help: String? = nil) {
        let warning = JobFileFault(position, message, help: help)
        if known.insert(warning).inserted { warnings.append(warning) }
    }

    /// Records faults that were found elsewhere.
    mutating func report(_ found: [JobFileFault]) { faults += found }

    /// Records that a name is not among the `known` ones, with the nearest of them.
    mutating func reportUnknown(
        _ what: String, _ name: String, in place: String? = nil, at position: YAMLNode.Position,
        known: [String], help: String
    ) {
        let suggestion =
            faults.count < Self.mostFaultsWithSuggestions ? nearest(to: name, among: known) : nil
        let message = "unknown \(what) \(shown(name))" + (place.map { " in \($0)" } ?? "")
        if let suggestion {
            report(position, "\(message); did you mean \(shown(suggestion))?")
        } else {
            report(position, message, help: help)
        }
    }
}
