public import ClarityScheduler
import Platform

/// An account as written in the job file or in a file of its own.
struct DeclaredAccount: Sendable {
    var id: Field<AccountID>?
    var login: Field<String>?
    var isEnabled = true
    var timeZone: Field<Zone>?
    /// The account's own sections.
    var sections = SectionValues()
    /// What replaces the constraints of each job, and keys of single jobs. They are read together
    /// with the jobs that they change.
    var constraints: YAMLNode?
    var machine: YAMLNode?
    var jobs: YAMLNode?

    /// An account in the list, where it stands, and the whole of it as written.
    struct Listed: Sendable {
        var position: YAMLNode.Position
        var node: YAMLNode
        var declaration: DeclaredAccount

        var path: CodingPath { .account(declaration.id?.value?.rawValue ?? "") }
    }

    static func schema(_ catalogue: JobCatalogue) -> MappingSchema<DeclaredAccount> {
        let sections = catalogue.sections.filter(\.isOfAccount).map { section in
            Key<DeclaredAccount>(
                section.key, set: { $0.sections[section.key] = $1 }, .section(section),
                "in place of the file's: \(section.summary)")
        }
        return MappingSchema(
            DeclaredAccount(),
            [
                Key(
                    "id", { swap(&$0.id, &$1) }, .accountID, isRequired: true,
                    "pseudonym of the wearer, unique in the file; it appears in logs and paths"),
                Key(
                    "login", { swap(&$0.login, &$1) }, .line,
                    "e-mail address with which `auth login` logs the account in"),
                Key(
                    "enabled", set: { $0.isEnabled = $1 }, .boolean, default: "true",
                    "whether the account's jobs are planned at all"),
                Key(
                    "time_zone", { swap(&$0.timeZone, &$1) }, .timeZone,
                    "time zone of the account's days, and of its jobs that name none"),
                Key(
                    "constraints", set: { $0.constraints = $1 },
                    .raw(.mapping(ConstraintsDeclaration.schema.descriptions)),
                    "constraints of all the account's jobs, each in place of the job's own"),
                Key(
                    "machine", set: { $0.machine = $1 },
                    .written(.machineName),
                    "machine on which the account's jobs have to run; a job's own key in `jobs` "
                        + "wins"),
                Key(
                    "jobs", set: { $0.jobs = $1 },
                    .raw(.entries(named: .jobID, of: .mapping(JobDeclaration.keys(catalogue)))),
                    "keys of single jobs, each in place of the job's own; not `id` and `kind`"),
            ] + sections)
    }

    /// Reads an account.
    ///
    /// - Parameter id: the id that the account's file has by its name; `nil` in the job file.
    static func listed(
        _ schema: MappingSchema<DeclaredAccount>, _ node: YAMLNode, of path: CodingPath,
        named id: AccountID? = nil, _ decoding: inout Decoding
    ) -> Listed? {
        var node = node
        if let id, case .mapping(let entries) = node.content {
            if let own = node["id"], own.text != id.rawValue {
                decoding.report(
                    own.position,
                    "id \(shown(own.text ?? own.noun)) is not that of the file's name, "
                        + "\(shown(id.rawValue))", help: "rename one of them")
            }
            let value = YAMLNode(
                position: node.position, content: .scalar(id.rawValue, isPlain: false))
            node.content = .mapping(
                entries.filter { $0.key != "id" }
                    + [YAMLNode.Entry(key: "id", keyPosition: node.position, value: value)])
        }
        let path = node["id"]?.text.map { .account($0) } ?? path
        let faults = decoding.faults.count
        let declaration = schema.decode(node, in: path, &decoding)
        if decoding.faults.count > faults { node.texts.forEach { decoding.suspect($0) } }
        return declaration.map {
            Listed(position: node.position, node: node, declaration: $0)
        }
    }
}

/// `accounts:` as written in the file.
enum DeclaredAccounts: Sendable {
    case list([DeclaredAccount.Listed])
    case folder(String)

    /// The accounts as they were read.
    struct Reading: Sendable {
        var all: [AccountDeclaration] = []
        var names = AccountNames()
        /// The reading before, and the indices of the accounts that differ.
        var lineage = Lineage<[Int]>()
    }
}

extension ValueSchema where Value == DeclaredAccounts {
    /// Reads a list of accounts, or the path of a folder with a file for each.
    static func accounts(_ catalogue: JobCatalogue) -> ValueSchema {
        let schema = DeclaredAccount.schema(catalogue)
        let list = ValueDescription.list(of: .mapping(schema.descriptions))
        return ValueSchema(.either(.path, list)) { node, path, decoding in
            if case .sequence(let nodes) = node.content {
                return .list(
                    nodes.enumerated().compactMap { index, node in
                        DeclaredAccount.listed(
                            schema, node, of: .entry(index + 1, of: path), &decoding)
                    })
            }
            guard node.text != nil else {
                return decoding.reportMismatch(node, path, .either(.path, list))
            }
            return ValueSchema<String>.path.decode(node, path, &decoding).map { .folder($0) }
        }
    }
}

extension ValueSchema where Value == YAMLNode {
    /// Takes a value as it is written, after a look whether `schema` reads it.
    static func written(_ schema: ValueSchema<String>) -> ValueSchema {
        ValueSchema(schema.description) { node, path, decoding in
            schema.decode(node, path, &decoding).map { _ in node }
        }
    }

    /// Takes a value as it is written.
    static func raw(
        _ description: @autoclosure @escaping @Sendable () -> ValueDescription
    ) -> ValueSchema {
        ValueSchema(description()) { node, path, decoding in
            guard case .mapping = node.content else {
                return decoding.reportMismatch(node, path, .mapping([]))
            }
            return node
        }
    }
}

extension ValueSchema where Value == AccountID {
    /// Reads an account's id.
    static var accountID: ValueSchema {
        .name(.accountID, "account id", rule: AccountID.rule) { AccountID($0) }
    }
}

/// An account of a job file: what differs from the file for one wearer.
public struct AccountDeclaration: Hashable, Sendable {
    public var id: AccountID
    /// The e-mail address with which the account logs in; `nil` if the file does not say.
    public var login: String?
    /// Whether the account's jobs are planned.
    public var isEnabled: Bool
    /// The sections that an account may have: its own, or the file's with `{account}` replaced in
    /// paths.
    public var sections: SectionValues
    /// The jobs as declared, without the account in their ids. Accounts that change no job share
    /// one array.
    public var jobs: [Job]
    /// The declared ids of the account's jobs with `enabled: false`.
    public var disabled: Set<JobID>
    /// The fault of the account's own declaration for which it is held, as people read it; it is then
    /// not enabled.
    public internal(set) var fault: String?

    /// The name for the account's id in paths of the job file.
    static let placeholder = "{account}"
}

extension AccountDeclaration {
    /// Creates an account of which nothing is known but its id.
    public init(id: AccountID) {
        self.init(
            id: id, login: nil, isEnabled: true, sections: SectionValues(), jobs: [], disabled: [])
    }
}
