import Platform
import ClarityScheduler

/// The keys of one mapping; decodes it, and reports unknown keys with the nearest known one.
///
/// `Declaration` holds the values: one `Field` per key, `nil` if the file lacks the key.
struct MappingSchema<Declaration: Sendable>: Sendable {
    let empty: Declaration
    let keys: [Key<Declaration>]

    init(_ empty: Declaration, _ keys: [Key<Declaration>]) {
        self.empty = empty
        self.keys = keys
    }

    /// The descriptions of the keys.
    var descriptions: [KeyDescription] { keys.map(\.description) }

    /// Reads a mapping, which messages call `path`, and reports each fault in it.
    ///
    /// Returns `nil` if the node is not a mapping.
    func decode(
        _ node: YAMLNode, in path: CodingPath, _ decoding: inout Decoding
    ) -> Declaration? {
        guard case .mapping(let entries) = node.content else {
            return decoding.reportMismatch(node, path, .mapping([]))
        }
        var declaration = empty
        for entry in entries {
            guard let key = keys.first(where: { $0.name == entry.key }) else {
                let names = keys.map(\.name)
                if entry.value.isNull, let colon = entry.key.firstIndex(of: ":"),
                    names.contains(String(entry.key[..<colon]))
                {
                    decoding.report(
                        entry.keyPosition,
                        "\(shown(entry.key)) in \(path.text) has no space after its `:`",
                        help: "put a space after `:`")
                    continue
                }
                decoding.reportUnknown(
                    "key", entry.key, in: path.text, at: entry.keyPosition, known: names,
                    help: (entry.key == "name" && names.contains("id") ? "call it `id`" : nil)
                        ?? place(of: entry.key)
                        ?? (names.isEmpty
                            ? "\(path.text) has no keys"
                            : "its keys are \(listed(names, "and"))"))
                continue
            }
            let at = CodingPath.value(key: entry.key, of: path)
            key.store(entry.value, at, &declaration, &decoding)
        }
        for key in keys where key.isRequired && !entries.contains(where: { $0.key == key.name }) {
            // Reported above: the unknown key stands for this one.
            guard key.name != "id" || !entries.contains(where: { $0.key == "name" }) else {
                continue
            }
            decoding.report(node.position, "\(path.text) has no \(shown(key.name))")
        }
        return declaration
    }

    /// Returns where a key belongs that a mapping below this one has, such as `command` of `options`.
    private func place(of unknown: String) -> String? {
        for key in descriptions {
            guard case .variants(_, let variants) = key.value,
                variants.values.contains(where: { $0.contains { $0.name == unknown } })
            else { continue }
            return "put \(shown(unknown)) below \(shown("\(key.name):"))"
        }
        return nil
    }

    /// Inherits every key that `declaration` lacks from `other`.
    func inherit(_ declaration: inout Declaration, from other: Declaration) {
        for key in keys { key.inherit(&declaration, other) }
    }
}

/// A key of a mapping, declared once: its name, the schema of its value and where the value goes.
///
/// The schema is made only for a file that has the key, because most files have few of the keys.
struct Key<Declaration: Sendable>: Sendable {
    let name: String
    let isRequired: Bool
    private let describe: @Sendable () -> KeyDescription
    /// Reads the key's value into the declaration.
    let store: @Sendable (YAMLNode, CodingPath, inout Declaration, inout Decoding) -> Void
    /// Inherits the key's value from another declaration if this one has none.
    let inherit: @Sendable (inout Declaration, Declaration) -> Void

    /// Declares a key whose value goes to the field that `exchange` swaps with its argument.
    ///
    /// A key path would do the same, but creating one at program start takes as long as reading a
    /// dozen keys.
    init<Value>(
        _ name: String,
        _ exchange: @escaping @Sendable (inout Declaration, inout Field<Value>?) -> Void,
        _ schema: @autoclosure @escaping @Sendable () -> ValueSchema<Value>,
        isRequired: Bool = false,
        default defaultValue: @autoclosure @escaping @Sendable () -> String? = nil,
        _ summary: String
    ) {
        self.init(
            name, schema, isRequired, defaultValue, summary,
            take: { declaration, value in
                var field: Field<Value>? = value
                exchange(&declaration, &field)
            },
            inherit: { declaration, other in
                var field: Field<Value>?
                exchange(&declaration, &field)
                if field == nil {
                    var other = other
                    exchange(&other, &field)
                }
                exchange(&declaration, &field)
            })
    }

    /// Declares a key whose value replaces the default value that the declaration has. It is not
    /// inherited.
    init<Value>(
        _ name: String, set: @escaping @Sendable (inout Declaration, Value) -> Void,
        _ schema: @autoclosure @escaping @Sendable () -> ValueSchema<Value>,
        isRequired: Bool = false,
        default defaultValue: @autoclosure @escaping @Sendable () -> String? = nil,
        _ summary: String
    ) {
        self.init(
            name, schema, isRequired, defaultValue, summary,
            take: { declaration, field in
                if let value = field.value { set(&declaration, value) }
            },
            inherit: { _, _ in })
    }

    private init<Value>(
        _ name: String, _ schema: @escaping @Sendable () -> ValueSchema<Value>, _ isRequired: Bool,
        _ defaultValue: @escaping @Sendable () -> String?, _ summary: String,
        take: @escaping @Sendable (inout Declaration, Field<Value>) -> Void,
        inherit: @escaping @Sendable (inout Declaration, Declaration) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        describe = {
            KeyDescription(
                name: name, value: schema().description, isRequired: isRequired,
                defaultValue: defaultValue(), summary: summary)
        }
        store = { node, path, declaration, decoding in
            let value = schema().decode(node, path, &decoding)
            take(&declaration, Field(position: node.position, value: value))
        }
        self.inherit = inherit
    }

    /// Returns a key of `inner` for a declaration that contains that one's declaration; `reach` gives access to
    /// it. It inherits nothing, because the inner declaration inherits by itself.
    init<Inner>(
        _ inner: Key<Inner>,
        within reach: @escaping @Sendable (inout Declaration, (inout Inner) -> Void) -> Void
    ) {
        name = inner.name
        isRequired = inner.isRequired
        describe = { inner.description }
        store = { node, path, outer, decoding in
            reach(&outer) { declaration in inner.store(node, path, &declaration, &decoding) }
        }
        inherit = { _, _ in }
    }

    var description: KeyDescription { describe() }
}

extension ValueSchema {
    /// Reads a mapping with a schema, which is made only for a file that has the mapping.
    static func mapping(
        _ schema: @autoclosure @escaping @Sendable () -> MappingSchema<Value>
    ) -> ValueSchema {
        ValueSchema(.mapping(schema().descriptions)) { node, path, decoding in
            schema().decode(node, in: path, &decoding)
        }
    }
}

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
    /// A group by its name, as written in the file.
    case group(String)
    /// An account by its id, as written in the file.
    case account(String)
    case value(key: String, of: CodingPath)
    /// An entry of a list, counted from 1.
    case entry(Int, of: CodingPath)

    /// The key; for an entry of a list, the key of the list.
    var key: String {
        switch self {
        case .file, .job, .check, .group, .account: text
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
        case .group(let name): "group \(shown(name))"
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
    /// The words of accounts with a fault: one of them may be the name of a variable with a secret,
    /// at a place that could not be read.
    private(set) var suspects: Set<String> = []
    /// The paths of the accounts' files of which nothing could be read.
    var unreadFiles: Set<String> = []
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

    /// Records the words of a text of an account with a fault, besides those that programs need.
    mutating func suspect(_ text: String) {
        let words = text.unicodeScalars.split { scalar in
            !(scalar == "_" || scalar.isASCII && scalar.properties.isAlphabetic
                || "0"..."9" ~= scalar)
        }
        suspects.formUnion(words.map { String($0) }.filter { !["PATH", "HOME"].contains($0) })
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
