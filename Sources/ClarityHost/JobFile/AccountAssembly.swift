import ClarityScheduler
import Platform
import Database

/// Builds accounts from declarations: gives each its sections and jobs, and checks what accounts must not
/// share.
///
/// Accounts that change nothing about the jobs share those of the file; the jobs of the others are
/// read again, as if the file had been written with the account's keys in their places.
struct AccountAssembly {
    let root: YAMLNode
    let catalogue: JobCatalogue
    let defaults: DefaultsDeclaration
    /// The sections of the file.
    let sections: SectionValues
    /// Those of them that all accounts have in common.
    let sharedSections: SectionValues
    /// The server on which each account has a role.
    let server: ServerAddress?
    let checks: KnownChecks
    let groups: KnownGroups
    let kinds: [JobKind: JobKindDeclaration]

    /// The jobs of one or more accounts, as declared.
    struct Jobs {
        var all: [Job] = []
        var disabled: Set<JobID> = []
    }

    /// The jobs as read for each set of changes, so that many accounts cost little more than one.
    var variants: [String: Jobs] = [:]

    init(
        _ root: YAMLNode, _ catalogue: JobCatalogue, _ declaration: FileDeclaration,
        _ defaults: DefaultsDeclaration,
        _ checks: KnownChecks, _ kinds: [JobKind: JobKindDeclaration]
    ) {
        self.root = root
        self.catalogue = catalogue
        self.defaults = defaults
        sections = declaration.sections
        var shared = declaration.sections
        for section in catalogue.sections where section.isOfAccount { shared[section.key] = nil }
        sharedSections = shared
        server = declaration.store.server
        self.checks = checks
        groups = KnownGroups(declaration)
        self.kinds = kinds
    }

    // MARK: Accounts

    /// Returns the account of a declaration; `nil` if its id has a fault.
    mutating func declaration(
        of account: DeclaredAccount.Listed, _ decoding: inout Decoding
    ) -> AccountDeclaration? {
        let declaration = account.declaration
        guard let id = declaration.id?.value else { return nil }
        var sections = SectionValues()
        for section in catalogue.sections where section.isOfAccount {
            sections[section.key] = declaration.sections[section.key] ?? self.sections[section.key]
        }
        sections.noteSources(catalogue) { entry, key in
            guard let path = entry[key] else { return }
            entry[OptionDeclaration.sourceRoot] = AccountAssembly.shared(path)
            entry[key] = path.replacing(AccountDeclaration.placeholder, with: id.rawValue)
            if let zone = declaration.timeZone?.value, entry[OptionDeclaration.sourceZone] == nil {
                entry[OptionDeclaration.sourceZone] = zone.identifier
            }
        }
        let jobs = jobs(of: account, sections, &decoding)
        return AccountDeclaration(
            id: id, login: declaration.login?.value, isEnabled: declaration.isEnabled,
            sections: sections,
            jobs: jobs.all, disabled: jobs.disabled)
    }

    /// Returns the folder above the part of a source's path that belongs to the account, which
    /// begins with the component that has the placeholder: the worker follows no link below it. A
    /// path without a placeholder is the account's own from the root on.
    private static func shared(_ path: String) -> String {
        guard let own = path.firstRange(of: AccountDeclaration.placeholder),
            let slash = path[..<own.lowerBound].lastIndex(of: "/"), slash > path.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    /// Reports ids, logins, sources and roles that several accounts would have. Those of an account
    /// that was not read this time are reported where the file begins.
    func reportShared(
        _ accounts: [(listed: DeclaredAccount.Listed?, declaration: AccountDeclaration)],
        _ decoding: inout Decoding
    ) {
        var ids: Set<AccountID> = []
        var logins: [String: AccountID] = [:]
        var readers: [String: AccountID] = [:]
        for (listed, account) in accounts {
            let place = listed?.position ?? root.position
            if !ids.insert(account.id).inserted {
                decoding.report(
                    listed?.declaration.id?.position ?? place,
                    "duplicate account id \(shown(account.id.rawValue))")
                continue
            }
            if let server, let bytes = server.roleBytes(cutOf: account.id) {
                decoding.report(
                    listed?.declaration.id?.position ?? place,
                    "account id \(shown(account.id.rawValue)) is too long with `store.url`: the name "
                        + "of its role has \(bytes) bytes, wanted at most "
                        + "\(ServerAddress.longestName)",
                    help: "shorten the id, or the name of the user in `store.url`")
            }
            if let login = account.login {
                if let other = logins.updateValue(account.id, forKey: login.lowercased()) {
                    decoding.report(
                        listed?.declaration.login?.position ?? place,
                        "login of account \(shown(account.id.rawValue)) is also that of "
                            + "\(shown(other.rawValue)): the backend would get both under one name")
                }
            }
            for path in account.sections.sourcePaths {
                guard let other = readers.updateValue(account.id, forKey: path),
                    other != account.id
                else { continue }
                let isOwn = listed?.declaration.sections[sourceSection] != nil
                decoding.report(
                    (isOwn ? listed?.node[sourceSection] : root[sourceSection])?.position ?? place,
                    "accounts \(shown(other.rawValue)) and \(shown(account.id.rawValue)) would "
                        + "read the same source \(shown(path))",
                    help: "write `\(AccountDeclaration.placeholder)` where their paths differ, or "
                        + "give each its own `sources`")
                break
            }
        }
    }

    /// Returns what an account may not share with another one, in a form that `AccountNames` keeps.
    func names(of account: AccountDeclaration) -> AccountNames.Own {
        AccountNames.Own(
            id: account.id, login: account.login?.lowercased(),
            sources: account.sections.sourcePaths,
            secrets: catalogue.sections.flatMap { $0.secretVariables(in: account.sections) },
            hasRole: server?.roleBytes(cutOf: account.id) == nil)
    }

    /// The key of the section with sources.
    private var sourceSection: String {
        catalogue.sections.first { section in
            guard case .list(let kinds) = section.content else { return false }
            return kinds.values.joined().contains { $0.type == .source }
        }?.key ?? ""
    }

    // MARK: Jobs

    private mutating func jobs(
        of account: DeclaredAccount.Listed, _ sections: SectionValues, _ decoding: inout Decoding
    ) -> Jobs {
        let declaration = account.declaration
        var defaults = defaults
        if let zone = declaration.timeZone { defaults.timeZone = zone }
        let changes = [declaration.constraints, declaration.machine, declaration.jobs].map {
            $0.map(AccountAssembly.text) ?? ""
        }
        let implied = catalogue.sections.filter { section in
            section.impliedJob != nil && sections[section.key] != nil
        }
        let key =
            ([declaration.timeZone?.value?.identifier ?? ""] + changes + implied.map(\.key))
            .joined(separator: "\u{0}")
        // A set of changes with a fault is reported where it stands, for each account that has it.
        let faults = decoding.faults.count
        if let known = variants[key] { return known }
        var list = root["jobs"]
        if !changes.allSatisfy(\.isEmpty) {
            list = list.map { changed($0, by: account, &decoding) }
        }
        let jobs = jobs(key, defaults, sections, list, &decoding)
        if decoding.faults.count > faults { variants[key] = nil }
        return jobs
    }

    private mutating func jobs(
        _ key: String, _ defaults: DefaultsDeclaration, _ sections: SectionValues,
        _ list: YAMLNode?,
        _ decoding: inout Decoding
    ) -> Jobs {
        guard let list, case .sequence = list.content else { return Jobs() }
        let fields =
            ValueSchema.list(of: JobDeclaration.listed(catalogue))
            .decode(list, .value(key: "jobs", of: .file), &decoding) ?? []
        let listed = fields.compactMap(\.value)
        if !key.isEmpty { JobGraph(listed).check(&decoding) }
        let shared = sharedSections.options
        let assembly = JobAssembly(
            defaults: defaults, sections: shared, checks: checks, groups: groups, kinds: kinds,
            isForAccounts: true)
        var jobs = Jobs(
            all: listed.compactMap { assembly.job($0, &decoding) },
            disabled: Set(
                listed.filter { !$0.declaration.isEnabled }.compactMap { $0.declaration.id?.value })
        )
        jobs.all = ImpliedJobs(catalogue, sections).added(to: jobs.all, options: shared)
        variants[key] = jobs
        return jobs
    }

    /// Returns the list of jobs with the keys that an account changes.
    private func changed(
        _ list: YAMLNode, by account: DeclaredAccount.Listed, _ decoding: inout Decoding
    ) -> YAMLNode {
        guard case .sequence(let nodes) = list.content else { return list }
        var list = list
        let ids = nodes.compactMap { $0["id"]?.text }
        if case .mapping(let entries)? = account.declaration.jobs?.content {
            for entry in entries {
                if !ids.contains(entry.key) {
                    decoding.reportUnknown(
                        "job", entry.key, in: "`jobs` of \(account.path.text)",
                        at: entry.keyPosition, known: ids, help: "the file's jobs are its `jobs`")
                }
                for key in ["id", "kind"] where entry.value[key] != nil {
                    decoding.report(
                        entry.value[key]?.position ?? entry.keyPosition,
                        "\(account.path.text) changes the `\(key)` of job \(shown(entry.key))",
                        help: "all accounts have the same jobs; `enabled: false` leaves one out")
                }
            }
        }
        list.content = .sequence(
            nodes.map { job in
                var job = job
                if let constraints = account.declaration.constraints {
                    job = job.setting("constraints", over: constraints)
                }
                if let machine = account.declaration.machine {
                    job = job.setting("machine", to: machine)
                }
                guard let id = job["id"]?.text,
                    case .mapping(let entries)? = account.declaration.jobs?[id]?.content
                else { return job }
                for entry in entries where entry.key != "id" && entry.key != "kind" {
                    let isNested = ["constraints", "options", "schedule"].contains(entry.key)
                    job =
                        isNested && entry.key != "schedule"
                        ? job.setting(entry.key, over: entry.value)
                        : job.setting(entry.key, to: entry.value)
                }
                return job
            })
        return list
    }

    /// Returns the contents of a node without its positions.
    private static func text(_ node: YAMLNode) -> String {
        switch node.content {
        case .scalar(let text, let isPlain): isPlain ? "p\(text)" : "q\(text)"
        case .sequence(let nodes): "[\(nodes.map(text).joined(separator: "\u{1}"))]"
        case .mapping(let entries):
            "{\(entries.map { "\($0.key)\u{2}\(text($0.value))" }.joined(separator: "\u{1}"))}"
        }
    }
}

/// What accounts must not share: logins, sources and roles; and the variables of their secrets.
struct AccountNames: Sendable {
    /// The names of one account.
    struct Own {
        var id: AccountID
        var login: String?
        var sources: [String]
        var secrets: [String]
        /// Whether the account has a role of its own on a server, if there is one.
        var hasRole: Bool
    }

    private var logins: [String: AccountID] = [:]
    private var readers: [String: AccountID] = [:]
    private var secrets: [String: Int] = [:]

    /// The variables that have secrets of accounts.
    var secretVariables: Dictionary<String, Int>.Keys { secrets.keys }

    /// Adds an account; returns whether it shares nothing with those that are known.
    mutating func add(_ own: Own) -> Bool {
        for secret in own.secrets { secrets[secret, default: 0] += 1 }
        var isAlone = own.hasRole
        if let login = own.login {
            isAlone = logins.updateValue(own.id, forKey: login) == nil && isAlone
        }
        for path in own.sources {
            let other = readers.updateValue(own.id, forKey: path)
            isAlone = (other == nil || other == own.id) && isAlone
        }
        return isAlone
    }

    /// Removes an account that shares nothing with the others.
    mutating func remove(_ own: Own) {
        for secret in own.secrets {
            let count = secrets[secret, default: 0] - 1
            secrets[secret] = count > 0 ? count : nil
        }
        if let login = own.login { logins[login] = nil }
        for path in own.sources { readers[path] = nil }
    }
}

extension YAMLNode {
    /// Returns a mapping with another value of a key.
    fileprivate func setting(_ key: String, to value: YAMLNode) -> YAMLNode {
        guard case .mapping(var entries) = content else { return self }
        entries.removeAll { $0.key == key }
        entries.append(Entry(key: key, keyPosition: value.position, value: value))
        var node = self
        node.content = .mapping(entries)
        return node
    }

    /// Returns a mapping in whose mapping `key` the keys of `changes` have other values.
    fileprivate func setting(_ key: String, over changes: YAMLNode) -> YAMLNode {
        guard case .mapping(let entries) = changes.content, var own = self[key],
            case .mapping = own.content
        else { return setting(key, to: changes) }
        for entry in entries { own = own.setting(entry.key, to: entry.value) }
        return setting(key, to: own)
    }
}
