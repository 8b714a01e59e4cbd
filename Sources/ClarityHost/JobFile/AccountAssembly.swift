import ClarityScheduler
import Platform
import Database

/// Builds accounts from drafts: gives each its settings and jobs, and checks what accounts must not
/// share.
///
/// Accounts that change nothing about the jobs share those of the file; the jobs of the others are
/// read again, as if the file had been written with the account's keys in their places.
struct AccountAssembly {
    let root: YAMLNode
    let catalogue: JobCatalogue
    let defaults: DefaultsDraft
    /// The sections of the file, flattened.
    let settings: [String: String]
    /// The server on which each account has a role.
    let server: ServerAddress?
    let checks: KnownChecks
    let kinds: [JobKind: JobKindDeclaration]

    /// The jobs of one or more accounts, as declared.
    struct Jobs {
        var all: [Job] = []
        var disabled: Set<JobID> = []
    }

    /// The jobs as read for each set of changes, so that many accounts cost little more than one.
    private var variants: [String: Jobs] = [:]

    init(
        _ root: YAMLNode, _ catalogue: JobCatalogue, _ draft: FileDraft, _ defaults: DefaultsDraft,
        _ checks: KnownChecks, _ kinds: [JobKind: JobKindDeclaration]
    ) {
        self.root = root
        self.catalogue = catalogue
        self.defaults = defaults
        settings = draft.settings
        server = draft.store.server
        self.checks = checks
        self.kinds = kinds
    }

    /// The keys of the sections that an account may have.
    private var ownSections: [String] { catalogue.sections.filter(\.isOfAccount).map(\.key) }

    /// The settings that all accounts have in common.
    var sharedSettings: [String: String] {
        let own = ownSections
        return settings.filter { key, _ in !own.contains { key.hasPrefix("\($0).") } }
    }

    // MARK: Accounts

    /// Returns the account of a draft; `nil` if its id has a fault.
    mutating func declaration(
        of account: AccountDraft.Listed, _ decoding: inout Decoding
    ) -> AccountDeclaration? {
        let draft = account.draft
        guard let id = draft.id?.value else { return nil }
        var settings: [String: String] = [:]
        for section in ownSections {
            if let own = draft.sections[section] {
                settings.merge(own) { _, new in new }
            } else {
                settings.merge(self.settings.filter { $0.key.hasPrefix("\(section).") }) { $1 }
            }
        }
        for (key, value) in settings where key.hasSuffix(".path") {
            if key.hasPrefix("sources.") {
                settings["\(key.dropLast("path".count))beneath"] = AccountAssembly.shared(value)
            }
            settings[key] = value.replacing(AccountDeclaration.placeholder, with: id.rawValue)
        }
        if let zone = draft.timeZone?.value {
            for (key, _) in settings where key.hasPrefix("sources.") && key.hasSuffix(".kind") {
                let zoneKey = "\(key.dropLast(".kind".count)).time_zone"
                settings[zoneKey] = settings[zoneKey] ?? zone.identifier
            }
        }
        if let login = draft.login?.value { settings["account.login"] = login }
        let jobs = jobs(of: account, settings, &decoding)
        return AccountDeclaration(
            id: id, login: draft.login?.value, isEnabled: draft.isEnabled, settings: settings,
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
        _ accounts: [(listed: AccountDraft.Listed?, declaration: AccountDeclaration)],
        _ decoding: inout Decoding
    ) {
        var ids: Set<AccountID> = []
        var logins: [String: AccountID] = [:]
        var readers: [String: AccountID] = [:]
        for (listed, account) in accounts {
            let place = listed?.position ?? root.position
            if !ids.insert(account.id).inserted {
                decoding.report(
                    listed?.draft.id?.position ?? place,
                    "duplicate account id \(shown(account.id.rawValue))")
                continue
            }
            if let server, let bytes = server.roleBytes(cutOf: account.id) {
                decoding.report(
                    listed?.draft.id?.position ?? place,
                    "account id \(shown(account.id.rawValue)) is too long with `store.url`: the name "
                        + "of its role has \(bytes) bytes, wanted at most "
                        + "\(ServerAddress.longestName)",
                    help: "shorten the id, or the name of the user in `store.url`")
            }
            if let login = account.login {
                if let other = logins.updateValue(account.id, forKey: login.lowercased()) {
                    decoding.report(
                        listed?.draft.login?.position ?? place,
                        "login of account \(shown(account.id.rawValue)) is also that of "
                            + "\(shown(other.rawValue)): the backend would get both under one name")
                }
            }
            for (key, path) in account.settings.sorted(by: { $0.key < $1.key })
            where key.hasPrefix("sources.") && key.hasSuffix(".path") {
                guard let other = readers.updateValue(account.id, forKey: path),
                    other != account.id
                else { continue }
                let isOwn = listed?.draft.sections["sources"] != nil
                decoding.report(
                    (isOwn ? listed?.node["sources"] : root["sources"])?.position ?? place,
                    "accounts \(shown(other.rawValue)) and \(shown(account.id.rawValue)) would "
                        + "read the same source \(shown(path))",
                    help: "write `\(AccountDeclaration.placeholder)` where their paths differ, or "
                        + "give each its own `sources`")
                break
            }
        }
    }

    // MARK: Jobs

    /// The jobs of an account that changes nothing.
    mutating func commonJobs(_ decoding: inout Decoding) -> Jobs {
        jobs("", defaults, settings, root["jobs"], &decoding)
    }

    private mutating func jobs(
        of account: AccountDraft.Listed, _ settings: [String: String], _ decoding: inout Decoding
    ) -> Jobs {
        let draft = account.draft
        var defaults = defaults
        if let zone = draft.timeZone { defaults.timeZone = zone }
        let changes = [draft.constraints, draft.jobs].map { $0.map(AccountAssembly.text) ?? "" }
        let implied = catalogue.sections.filter { section in
            section.impliedJob != nil && settings.keys.contains { $0.hasPrefix("\(section.key).") }
        }
        let key =
            ([draft.timeZone?.value?.identifier ?? ""] + changes + implied.map(\.key))
            .joined(separator: "\u{0}")
        // A set of changes with a fault is reported where it stands, for each account that has it.
        let faults = decoding.faults.count
        if let known = variants[key] { return known }
        var list = root["jobs"]
        if !changes.allSatisfy(\.isEmpty) {
            list = list.map { changed($0, by: account, &decoding) }
        }
        let jobs = jobs(key, defaults, settings, list, &decoding)
        if decoding.faults.count > faults { variants[key] = nil }
        return jobs
    }

    private mutating func jobs(
        _ key: String, _ defaults: DefaultsDraft, _ settings: [String: String], _ list: YAMLNode?,
        _ decoding: inout Decoding
    ) -> Jobs {
        guard let list, case .sequence = list.content else { return Jobs() }
        let fields =
            ValueSchema.list(of: JobDraft.listed(catalogue))
            .decode(list, .value(key: "jobs", of: .file), &decoding) ?? []
        let listed = fields.compactMap(\.value)
        if !key.isEmpty { JobGraph(listed).check(&decoding) }
        let assembly = JobAssembly(
            defaults: defaults, settings: sharedSettings, checks: checks, kinds: kinds,
            isForAccounts: true)
        var jobs = Jobs(
            all: listed.compactMap { assembly.job($0, &decoding) },
            disabled: Set(
                listed.filter { !$0.draft.isEnabled }.compactMap { $0.draft.id?.value }))
        jobs.all = ImpliedJobs(catalogue, settings).added(to: jobs.all, options: sharedSettings)
        variants[key] = jobs
        return jobs
    }

    /// Returns the list of jobs with the keys that an account changes.
    private func changed(
        _ list: YAMLNode, by account: AccountDraft.Listed, _ decoding: inout Decoding
    ) -> YAMLNode {
        guard case .sequence(let nodes) = list.content else { return list }
        var list = list
        let ids = nodes.compactMap { $0["id"]?.text }
        if case .mapping(let entries)? = account.draft.jobs?.content {
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
                if let constraints = account.draft.constraints {
                    job = job.setting("constraints", over: constraints)
                }
                guard let id = job["id"]?.text,
                    case .mapping(let entries)? = account.draft.jobs?[id]?.content
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
