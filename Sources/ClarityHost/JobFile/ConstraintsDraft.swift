import ClarityScheduler
import ClaritySystem

/// `constraints:` as written in the file.
struct ConstraintsDraft: Sendable {
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
    var unknown: Field<UnknownDraft>?

    /// The keys of the constraints, which have the engine's names.
    static let constraintKeys: [Key<ConstraintsDraft>] = [
        Key(
            "network", { swap(&$0.network, &$1) }, .choice(of: Network.self),
            "network connection that is required; without it `any` if the kind needs a network"),
        Key(
            "external_power", { swap(&$0.externalPower, &$1) }, .boolean, standard: "false",
            "require external power"),
        Key(
            "battery_above", { swap(&$0.batteryAbove, &$1) }, .percent(0...99), standard: "0%",
            "battery charge above which runs start; 0% requires nothing"),
        Key(
            "not_low_power", { swap(&$0.notLowPower, &$1) }, .boolean, standard: "false",
            "require that the machine saves no power"),
        Key(
            "idle", { swap(&$0.idle, &$1) }, .boolean, standard: "false",
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

    static let shape = MappingSchema(
        ConstraintsDraft(),
        constraintKeys + [
            Key(
                "unknown", { swap(&$0.unknown, &$1) }, .mapping(UnknownDraft.shape),
                "whether a run starts or waits while a condition is unknown")
        ])

    /// More than one window for each half hour of a week is never needed.
    private static let mostWindows = 336

    /// Inherits every key that this draft lacks from `other`, also within `unknown`.
    mutating func inherit(from other: ConstraintsDraft) {
        if var own = unknown?.value, let inherited = other.unknown?.value {
            UnknownDraft.shape.inherit(&own, from: inherited)
            unknown?.value = own
        }
        Self.shape.inherit(&self, from: other)
    }
}

/// `unknown:` of `constraints:` as written in the file.
struct UnknownDraft: Sendable {
    private var fields: [String: Field<UnknownRule>] = [:]

    /// The constraints whose condition can be unknown.
    private static let names = [
        "network", "external_power", "battery_above", "not_low_power", "idle", "storage_free",
        "pressure_below", "check",
    ]

    static let shape = MappingSchema(
        UnknownDraft(),
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
        let description = FormDescription.either(size.description, byPath.description)
        return ValueSchema(description) { node, place, decoding in
            switch node.content {
            case .scalar where !node.isNull:
                return size.decode(node, place, &decoding).map { [StorageRequirement(bytes: $0)] }
            case .mapping:
                guard let entries = byPath.decode(node, place, &decoding) else { return nil }
                var paths: Set<String> = []
                return entries.compactMap { entry in
                    guard let path = entry.name else { return nil }
                    guard paths.insert(path).inserted else {
                        decoding.report(
                            entry.keyPosition, "\(place.text) has \(shown(path)) twice")
                        return nil
                    }
                    return entry.field.value.map { StorageRequirement(path: path, bytes: $0) }
                }
            case .scalar, .sequence:
                decoding.reportForm(node, place, description)
                return nil
            }
        }
    }
}

extension ValueSchema where Value == Window {
    /// Reads a stretch of the day such as `22:00-06:00`.
    static var window: ValueSchema {
        .scalar(.window) { text, node, place, decoding in
            do throws(ExpressionError) {
                return try Window(text)
            } catch {
                decoding.report(
                    node.position,
                    "\(place.key) \(shown(text)) is not understood, wanted \(error.wanted)")
                return nil
            }
        }
    }
}
