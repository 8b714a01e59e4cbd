import ClarityScheduler
import Platform

/// A group of `groups:` as written in the file.
struct GroupDeclaration: Sendable {
    var atOnce: Field<Int>?
    var rate: Field<Rate>?

    static let schema = MappingSchema(
        GroupDeclaration(),
        [
            Key(
                "at_once", { swap(&$0.atOnce, &$1) }, .integer(1...64),
                "maximum number of attempts of the group's jobs at the same time; without it there "
                    + "is no limit but `max_parallel`"),
            Key(
                "per", { swap(&$0.rate, &$1) }, .rate,
                "maximum number of starts of the group's jobs in any span of that length, retries "
                    + "included; without it there is no limit"),
        ])
}

extension ValueSchema where Value == [NamedField<String, GroupDeclaration>] {
    /// Reads the groups by their names.
    static var groups: ValueSchema {
        .entries(named: .groupName, of: .group, path: { name, _ in .group(name) })
    }
}

extension ValueSchema where Value == GroupDeclaration {
    /// Reads the limits of a group, which has at least one.
    fileprivate static var group: ValueSchema {
        let mapping = ValueSchema.mapping(GroupDeclaration.schema)
        return ValueSchema(mapping.description) { node, path, decoding in
            guard let declaration = mapping.decode(node, path, &decoding) else { return nil }
            guard declaration.atOnce != nil || declaration.rate != nil else {
                return decoding.fault(
                    node.position, "\(path.text) has none of `at_once` and `per`",
                    help: "write `{ at_once: 1 }`, `{ per: 10 per 1m }` or both")
            }
            return declaration
        }
    }
}

extension ValueSchema where Value == String {
    /// Reads a group's name.
    static var groupName: ValueSchema { plainName("group name") }

    /// Reads the name of a machine, or a label.
    static var machineName: ValueSchema { plainName("machine name") }

    private static func plainName(_ what: String) -> ValueSchema {
        .name(.groupName, what, rule: "a name is 1 to 64 letters, digits, `-`, `_` or `.`") {
            text in
            isGroupOrCheckName(text) ? text : nil
        }
    }
}

/// The groups that a job file declares, for its jobs to refer to.
struct KnownGroups: Sendable {
    /// Each group by its name; `nil` for one with a fault.
    private var groups: [String: LimitGroup?] = [:]
    private var names: [String] = []
    /// Whether the section that declares them could be read.
    private let isRead: Bool

    init(_ file: FileDeclaration) {
        isRead = file.groups == nil || file.groups?.value != nil
        for entry in file.groups?.value ?? [] {
            names.append(entry.key)
            groups[entry.key] = .some(
                entry.field.value.map { declaration in
                    LimitGroup(
                        entry.key, atOnce: declaration.atOnce?.value, rate: declaration.rate?.value)
                })
        }
    }

    /// Returns the groups that a job names, without those that have a fault; reports names that no
    /// group has.
    func groups(of job: JobDeclaration.Listed, _ decoding: inout Decoding) -> [LimitGroup] {
        (job.declaration.groups?.value ?? []).compactMap { field in
            guard let name = field.value else { return nil }
            if let known = groups[name] { return known }
            if isRead {
                decoding.reportUnknown(
                    "group", name, in: job.path.text, at: field.position, known: names,
                    help: names.isEmpty
                        ? "the file declares none; declare it under `groups`"
                        : "the file declares \(listed(names, "and"))")
            }
            return nil
        }
    }

    /// Reports limits for which the history keeps too few runs.
    static func check(_ file: FileDeclaration, _ decoding: inout Decoding) {
        let kept = file.store.retention
        for entry in file.groups?.value ?? [] {
            guard let field = entry.field.value?.rate, let rate = field.value else { continue }
            let path = CodingPath.group(entry.key).text
            if rate.span > kept.age {
                decoding.report(
                    field.position,
                    "\(path) counts the starts within `\(spanText(rate.span))`, and the history keeps "
                        + "a run for `\(spanText(kept.age))`",
                    help: "raise `keep_for` of `history` in `store`")
            }
            if rate.count > kept.runs {
                decoding.report(
                    field.position,
                    "\(path) counts `\(rate.count)` starts, and the history keeps `\(kept.runs)` runs "
                        + "of a job", help: "raise `keep_runs` of `history` in `store`")
            }
        }
    }
}

/// Whether a group or a check can have this name.
func isGroupOrCheckName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.areLettersDigits(or: "-_.")
}
