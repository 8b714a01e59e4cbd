import ClarityScheduler
import Platform

/// `constraints:` as written in the file.
struct ConstraintsDeclaration: Sendable {
    /// The values of `network`.
    enum Network: String, CaseIterable, Sendable {
        case any
        case unmetered
        case notRoaming = "not_roaming"
        case none
    }

    var network: Field<Network>?
    var externalPower: Field<Bool>?
    var batteryAbove: Field<Int>?
    var notLowPower: Field<Bool>?
    var idle: Field<Bool>?
    var storageFree: Field<[StorageRequirement]>?
    var pressureBelow: Field<Int>?
    var windows: Field<[Field<Window>]>?
    var checks: Field<[Field<String>]>?
    var unknown: Field<UnknownDeclaration>?

    /// The keys of the constraints, which have the engine's names.
    static let constraintKeys: [Key<ConstraintsDeclaration>] = [
        Key(
            "network", { swap(&$0.network, &$1) }, .choice(of: Network.self),
            "network connection that is required; without it `any` if the kind needs a network"),
        Key(
            "external_power", { swap(&$0.externalPower, &$1) }, .boolean, default: "false",
            "require external power"),
        Key(
            "battery_above", { swap(&$0.batteryAbove, &$1) }, .percent(0...99), default: "0%",
            "battery charge above which runs start; 0% requires nothing"),
        Key(
            "not_low_power", { swap(&$0.notLowPower, &$1) }, .boolean, default: "false",
            "require that the machine saves no power"),
        Key(
            "idle", { swap(&$0.idle, &$1) }, .boolean, default: "false",
            "require that nobody uses the machine"),
        Key(
            "storage_free", { swap(&$0.storageFree, &$1) }, .storageRequirements,
            "free space that is required, in the state directory or by path; 0MiB requires "
                + "nothing"),
        Key(
            "pressure_below", { swap(&$0.pressureBelow, &$1) }, .percent(1...100),
            "share of time that processes stall for processor, memory or disk, below which runs "
                + "start"),
        Key(
            "window", { swap(&$0.windows, &$1) }, .oneOrMore(.window, atMost: mostWindows),
            "times of the day at which runs may start; an empty list requires nothing"),
        Key(
            "check", { swap(&$0.checks, &$1) },
            .oneOrMore(.text, atMost: ValueSchema<Void>.mostEntries),
            "checks that must succeed; an empty list requires nothing"),
    ]

    static let schema = MappingSchema(
        ConstraintsDeclaration(),
        constraintKeys + [
            Key(
                "unknown", { swap(&$0.unknown, &$1) }, .mapping(UnknownDeclaration.schema),
                "whether a run starts or waits while a condition is unknown")
        ])

    /// More than one window for each half hour of a week is never needed.
    private static let mostWindows = 336

    /// Inherits every key that this declaration lacks from `other`, also within `unknown`.
    mutating func inherit(from other: ConstraintsDeclaration) {
        if var own = unknown?.value, let inherited = other.unknown?.value {
            UnknownDeclaration.schema.inherit(&own, from: inherited)
            unknown?.value = own
        }
        Self.schema.inherit(&self, from: other)
    }
}

/// `unknown:` of `constraints:` as written in the file.
struct UnknownDeclaration: Sendable {
    private var fields: [String: Field<UnknownRule>] = [:]

    /// The constraints whose condition can be unknown: all but the clock's.
    private static let names = ConstraintsDeclaration.constraintKeys.map(\.name).filter {
        $0 != "window"
    }

    static let schema = MappingSchema(
        UnknownDeclaration(),
        names.map { name in
            Key(
                name, { swap(&$0.fields[name], &$1) }, .choice(of: UnknownRule.self),
                "whether a run starts or waits while this condition is unknown")
        })

    /// The rules by constraint name.
    var rules: [String: UnknownRule] { fields.compactMapValues(\.value) }
}

/// The free space that a path, or the state directory, must have.
struct StorageRequirement: Hashable, Sendable {
    var path: String?
    var bytes: Int64
}

extension ValueSchema where Value == [StorageRequirement] {
    /// Reads a size for the state directory, or sizes by path.
    static var storageRequirements: ValueSchema {
        let size = ValueSchema<Int64>.size(0...(1 << 50))
        let byPath = ValueSchema<[NamedField<String, Int64>]>.entries(named: .path, of: size)
        return ValueSchema(.either(size.description, byPath.description)) { node, path, decoding in
            switch node.content {
            case .scalar where !node.isNull:
                return size.decode(node, path, &decoding).map { [StorageRequirement(bytes: $0)] }
            case .mapping:
                guard let entries = byPath.decode(node, path, &decoding) else { return nil }
                var folders: Set<String> = []
                return entries.compactMap { entry in
                    guard let folder = entry.name else { return nil }
                    guard folders.insert(folder).inserted else {
                        return decoding.fault(
                            entry.keyPosition, "\(path.text) has \(shown(folder)) twice")
                    }
                    return entry.field.value.map { StorageRequirement(path: folder, bytes: $0) }
                }
            case .scalar, .sequence:
                return decoding.reportMismatch(node, path, .either(size.description, .mapping([])))
            }
        }
    }
}

extension ValueSchema where Value == Window {
    /// Reads a stretch of the day such as `22:00-06:00`.
    static var window: ValueSchema {
        .text(.window) { text throws(TextFault) in
            do throws(ExpressionError) {
                return try Window(text)
            } catch {
                throw TextFault("is not understood, wanted \(error.wanted)")
            }
        }
    }
}

/// The checks that a job file declares, for its jobs to refer to.
struct KnownChecks: Sendable {
    /// How long the answer of each check remains valid, by name; `nil` for a check with a fault.
    private var validity: [String: Duration?] = [:]
    private var names: [String] = []
    /// Whether the section that declares them could be read.
    private let isRead: Bool
    /// The check that jobs with a `network` constraint also need.
    var probe: Check?

    init(_ file: FileDeclaration) {
        isRead = file.checks == nil || file.checks?.value != nil
        for entry in file.checks?.value ?? [] {
            names.append(entry.key)
            validity[entry.key] = .some(entry.field.value?.declaration(entry.key)?.validFor)
        }
        if file.conditions.probe != nil {
            probe = Check(name: CheckDeclaration.probeName, subject: Constraint.connected.name)
        }
    }

    /// Returns the check with a name; `nil` if there is none, or it has a fault.
    func check(_ name: String) -> Check? {
        validity[name].flatMap { $0 }.map { Check(name: name, validFor: $0) }
    }

    /// Reports names that no check has.
    func report(
        unknownIn constraints: Field<ConstraintsDeclaration>?, of path: CodingPath,
        _ decoding: inout Decoding
    ) {
        guard isRead else { return }
        for field in constraints?.value?.checks?.value ?? [] {
            guard let name = field.value, validity[name] == nil else { continue }
            let isProbe = name == CheckDeclaration.probeName
            decoding.reportUnknown(
                "check", name, in: path.text, at: field.position, known: isProbe ? [] : names,
                help: isProbe
                    ? "jobs with a `network` constraint ask the `probe` of `conditions` by "
                        + "themselves"
                    : names.isEmpty
                        ? "the file declares none; declare it under `checks`"
                        : "the file declares \(listed(names, "and"))")
        }
    }
}

extension JobAssembly {
    /// Returns the constraints of a job, in the order in which `ConstraintsDeclaration` declares their
    /// keys.
    func constraints(
        _ common: CommonDeclaration, of entry: JobDeclaration.Listed, _ decoding: inout Decoding
    ) -> [Constraint] {
        let declaration = common.constraints?.value ?? ConstraintsDeclaration()
        let network: Constraint? =
            switch declaration.network?.value {
            case .any: .connected
            case .unmetered: .unmetered
            case .notRoaming: .notRoaming
            case .some(.none): nil
            case nil: needsNetwork(entry.declaration) ? .connected : nil
            }
        let wanted: [Constraint?] = [
            network,
            network.flatMap { _ in checks.probe }.map { .check($0) },
            declaration.externalPower?.value == true ? .externalPower : nil,
            declaration.batteryAbove?.value.flatMap { $0 > 0 ? .batteryAbove(percent: $0) : nil },
            declaration.notLowPower?.value == true ? .notLowPower : nil,
            declaration.idle?.value == true ? .idle : nil,
        ]
        let storage = (declaration.storageFree?.value ?? []).filter { $0.bytes > 0 }
        let asked = (declaration.checks?.value ?? []).compactMap { $0.value.flatMap(checks.check) }
        return wanted.compactMap(\.self)
            + storage.map { .storageFree(bytes: $0.bytes, path: $0.path) }
            + [
                declaration.pressureBelow?.value.map { .pressureBelow(percent: $0) },
                windows(declaration, of: entry, &decoding).map { .window($0) },
            ].compactMap(\.self)
            + asked.map { .check($0) }
    }

    /// Returns the constraints that the job's kind implies.
    func implied(_ constraints: [Constraint], _ common: CommonDeclaration) -> Set<Constraint> {
        guard common.constraints?.value?.network == nil else { return [] }
        return Set(constraints.filter { $0.name == Constraint.connected.name })
    }

    /// Whether the job's kind connects to an address that is not on this machine.
    private func needsNetwork(_ declaration: JobDeclaration) -> Bool {
        guard let key = declaration.kind?.value.flatMap({ kinds[$0]?.addressKey }),
            let address = declaration.options[key] ?? sections[key]
        else { return false }
        do throws(TextFault) {
            return try !WebAddress.parse(address, allowsMQTT: true).isLoopback
        } catch {
            return false
        }
    }

    /// Returns the windows in the zone of the job's schedule, of the file, or else of the machine.
    private func windows(
        _ declaration: ConstraintsDeclaration, of entry: JobDeclaration.Listed,
        _ decoding: inout Decoding
    ) -> Windows? {
        let windows = (declaration.windows?.value ?? []).compactMap(\.value)
        guard !windows.isEmpty else { return nil }
        // If a job inherits its windows, report an unknown machine zone at the job, so that no two
        // faults are at the same position.
        let own = entry.declaration.common.constraints?.value?.windows?.position
        let zone = zone(
            entry.declaration.schedule?.value?.timeZone, at: own ?? entry.position, &decoding)
        return zone.map { Windows(windows, in: $0) }
    }
}
