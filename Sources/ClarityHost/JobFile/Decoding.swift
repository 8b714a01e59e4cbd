import ClarityScheduler
import Platform

/// The environment in which a job file is read.
struct DecodingContext: Sendable {
    /// The home folder, for `~/`.
    var home: String
    /// The job file's folder, the base of relative paths.
    var folder: String
    var zones: any ZoneSource
    /// The zone of schedules and windows without a zone in the file.
    var localZone: String
    /// The identity of this machine.
    var host: String
    /// The current time, if the caller wants warnings.
    var now: Instant?
}

/// The value of a key in a job file.
///
/// `value` is `nil` if the key exists but its value has a fault. The fault has then been reported,
/// so later steps do not report the value as missing.
struct Field<Value: Sendable>: Sendable {
    var position: YAMLNode.Position
    var value: Value?
}

/// The location of a value in the file, such as `timeout` of job `a`.
///
/// It becomes text only when there is something to report: a file without faults needs none.
indirect enum CodingPath: Sendable {
    case file
    /// A job by its id, as written in the file.
    case job(String)
    /// A check by its name, as written in the file.
    case check(String)
    /// An account by its id, as written in the file.
    case account(String)
    case value(key: String, of: CodingPath)
    /// An entry of a list, counted from 1.
    case entry(Int, of: CodingPath)

    /// The key; for an entry of a list, the key of the list.
    var key: String {
        switch self {
        case .file, .job, .check, .account: text
        case .value(let key, _): key
        case .entry(_, let list): list.key
        }
    }

    /// The whole path, for messages about a whole value.
    var text: String {
        switch self {
        case .file: "the job file"
        case .job(let id): "job \(shown(id))"
        case .check(let name): "check \(shown(name))"
        case .account(let id): "account \(shown(id))"
        case .value(let key, .file): shown(key)
        case .value(let key, let owner): "\(shown(key)) of \(owner.text)"
        case .entry(let number, let list): "entry \(number) of \(list.text)"
        }
    }
}

/// One pass over a job file: its context and the faults found so far.
struct Decoding: Sendable {
    var context: DecodingContext
    /// The paths of the accounts' files, by their number in positions.
    var files: [Int: String] = [:]
    private(set) var faults: [JobFileFault] = []
    private(set) var warnings: [JobFileFault] = []
    private var known: Set<JobFileFault> = []
    /// The schemas of the options of the kinds that came before.
    private var optionsSchemas: [JobKind: MappingSchema<OptionsDeclaration>] = [:]

    /// The number of faults after which messages suggest no similar names: nobody reads that far,
    /// and the search takes time.
    private static let mostFaultsWithSuggestions = 200

    init(_ context: DecodingContext) { self.context = context }

    /// Records a fault.
    mutating func report(
        _ position: YAMLNode.Position, _ message: String, help: String? = nil
    ) {
        var fault = JobFileFault(position, message, help: help)
        fault.file = files[position.file]
        faults.append(fault)
    }

    /// Records a fault, and returns `nil` for the value that has it.
    mutating func fault<Value>(
        _ position: YAMLNode.Position, _ message: String, help: String? = nil
    ) -> Value? {
        report(position, message, help: help)
        return nil
    }

    /// Records that a setting can never take effect.
    ///
    /// The same warning at the same position is recorded once, because several jobs may inherit the
    /// setting.
    mutating func warn(_ position: YAMLNode.Position, _ message: String, help: String? = nil) {
        var warning = JobFileFault(position, message, help: help)
        warning.file = files[position.file]
        if known.insert(warning).inserted { warnings.append(warning) }
    }

    /// Returns the schema of a kind's options, which is made once for each kind that the file has.
    mutating func optionsSchema(of kind: JobKindDeclaration) -> MappingSchema<OptionsDeclaration> {
        if let schema = optionsSchemas[kind.kind] { return schema }
        let schema = OptionsDeclaration.schema(kind.options)
        optionsSchemas[kind.kind] = schema
        return schema
    }

    /// Records faults that another step found.
    mutating func report(_ found: [JobFileFault]) { faults += found }

    /// Records that a name is not one of `known`, and suggests the nearest one.
    mutating func reportUnknown(
        _ what: String, _ name: String, in path: String? = nil, at position: YAMLNode.Position,
        known: [String], help: String
    ) {
        let suggestion =
            faults.count < Self.mostFaultsWithSuggestions ? nearest(to: name, among: known) : nil
        let message = "unknown \(what) \(shown(name))" + (path.map { " in \($0)" } ?? "")
        if let suggestion {
            report(position, "\(message); did you mean \(shown(suggestion))?")
        } else {
            report(position, message, help: help)
        }
    }
}
