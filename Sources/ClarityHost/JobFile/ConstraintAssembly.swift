import ClarityScheduler
import ClaritySystem

/// The checks that a job file declares, for its jobs to refer to.
struct KnownChecks: Sendable {
    /// How long the answer of each check remains valid, by name; `nil` for a check with a fault.
    private var validity: [String: Duration?] = [:]
    private var names: [String] = []
    /// Whether the section that declares them could be read.
    private let isRead: Bool
    /// The check that jobs with a `network` constraint also need.
    var probe: Check?

    init(_ file: FileDraft) {
        isRead = file.checks == nil || file.checks?.value != nil
        for entry in file.checks?.value ?? [] {
            names.append(entry.key)
            validity[entry.key] = .some(entry.field.value?.declaration(entry.key)?.validFor)
        }
        if file.conditions?.value?.probe?.value != nil {
            probe = Check(name: CheckDeclaration.probeName, subject: Constraint.connected.name)
        }
    }

    /// Returns the check with a name; `nil` if there is none, or it has a fault.
    func check(_ name: String) -> Check? {
        validity[name].flatMap { $0 }.map { Check(name: name, validFor: $0) }
    }

    /// Reports names that no check has.
    func report(
        unknownIn constraints: Field<ConstraintsDraft>?, of place: CodingPath,
        _ decoding: inout Decoding
    ) {
        guard isRead else { return }
        for field in constraints?.value?.checks?.value ?? [] {
            guard let name = field.value, validity[name] == nil else { continue }
            let isProbe = name == CheckDeclaration.probeName
            decoding.reportUnknown(
                "check", name, in: place.text, at: field.position, known: isProbe ? [] : names,
                help: isProbe
                    ? "jobs with a `network` constraint ask the `probe` of `conditions` by "
                        + "themselves"
                    : names.isEmpty
                        ? "the file declares none; `checks` is the place for it"
                        : "the file declares \(listed(names, "and"))")
        }
    }
}

extension JobAssembly {
    /// Returns the constraints of a job, in the order in which `ConstraintsDraft` declares their
    /// keys.
    func constraints(
        _ common: CommonDraft, of entry: JobDraft.Listed, _ decoding: inout Decoding
    ) -> [Constraint] {
        let draft = common.constraints?.value ?? ConstraintsDraft()
        let network: Constraint? =
            switch draft.network?.value {
            case .any: .connected
            case .unmetered: .unmetered
            case .notRoaming: .notRoaming
            case .some(.none): nil
            case nil: needsNetwork(entry.draft) ? .connected : nil
            }
        let wanted: [Constraint?] = [
            network,
            network.flatMap { _ in checks.probe }.map { .check($0) },
            draft.externalPower?.value == true ? .externalPower : nil,
            draft.batteryAbove?.value.flatMap { $0 > 0 ? .batteryAbove(percent: $0) : nil },
            draft.notLowPower?.value == true ? .notLowPower : nil,
            draft.idle?.value == true ? .idle : nil,
        ]
        let storage = (draft.storageFree?.value ?? []).filter { $0.bytes > 0 }
        let asked = (draft.checks?.value ?? []).compactMap { $0.value.flatMap(checks.check) }
        return wanted.compactMap(\.self)
            + storage.map { .storageFree(bytes: $0.bytes, path: $0.path) }
            + [
                draft.pressureBelow?.value.map { .pressureBelow(percent: $0) },
                windows(draft, of: entry, &decoding).map { .window($0) },
            ].compactMap(\.self)
            + asked.map { .check($0) }
    }

    /// Returns the constraints that the job's kind implies.
    func implied(_ constraints: [Constraint], _ common: CommonDraft) -> Set<Constraint> {
        guard common.constraints?.value?.network == nil else { return [] }
        return Set(constraints.filter { $0.name == Constraint.connected.name })
    }

    /// Whether the job's kind connects to an address that is not on this machine.
    private func needsNetwork(_ draft: JobDraft) -> Bool {
        guard let key = draft.kind?.value.flatMap({ kinds[$0]?.addressKey }),
            let address = draft.options[key] ?? settings[key],
            case .success(let parsed) = WebAddress.parse(address)
        else { return false }
        return !parsed.isLoopback
    }

    /// Returns the windows in the zone of the job's schedule, of the file, or else of the machine.
    private func windows(
        _ draft: ConstraintsDraft, of entry: JobDraft.Listed, _ decoding: inout Decoding
    ) -> Windows? {
        let windows = (draft.windows?.value ?? []).compactMap(\.value)
        guard !windows.isEmpty else { return nil }
        // If a job inherits its windows, report an unknown machine zone at the job, so that no two
        // faults are at the same position.
        let own = entry.draft.common.constraints?.value?.windows?.position
        let zone = zone(
            entry.draft.schedule?.value?.timeZone, at: own ?? entry.position, &decoding)
        return zone.map { Windows(windows, in: $0) }
    }
}
