public import ClarityScheduler
public import Database

/// The contents of a job file, checked and complete.
public struct JobFile: Hashable, Sendable {
    /// All jobs in the order of the file, including disabled ones, then those that a section
    /// implies. Each id is unique. Every id in
    /// `then` and `thenFailed` belongs to another job here, and no chain of them leads back to its
    /// own job.
    public var jobs: [Job]
    /// The jobs with `enabled: false` and those that are held: listed but never planned.
    public var disabled: Set<JobID>
    /// The jobs that a section implies and the file does not declare.
    public internal(set) var implied: Set<JobID> = []
    /// The jobs that are held because their own declaration has a fault, with the first fault as
    /// people read it; empty unless the reader holds faulty jobs.
    public internal(set) var held: [JobID: String] = [:]
    /// Every fault for which a job or an account is held, as people read it.
    public internal(set) var heldFaults: [String] = []
    /// The first fault that the job file has had since it was as it is here, as people read it, if
    /// that fault concerns all of it.
    public var laterFault: String?
    /// The catalogue's sections. The options of each job also contain them.
    public var sections: SectionValues
    /// The state directory; `nil` if the file does not set it.
    public var stateDirectory: String?
    /// The database with the history and the health data; `nil` if they are files in the state
    /// directory.
    public var server: ServerAddress?
    /// The maximum number of attempts at the same time on this machine, 1 to 64; `nil` if the file
    /// does not set it.
    public var maxParallel: Int?
    /// The same on all machines that share the state, 1 to 4096.
    public internal(set) var maxParallelTotal: Int?
    /// The history's retention policy.
    public var retention: RetentionPolicy
    /// The file for the node exporter's textfile collector; `nil` if the file does not set it.
    public var metricsTextfile: String?
    /// The settings for measuring this machine's conditions.
    public var conditions: ConditionSettings
    /// What `machine` of a job may call this machine besides its host name.
    public internal(set) var labels: Set<String> = []
    /// The checks that the file declares, in its order. Each name is unique, and none is
    /// `CheckDeclaration.probeName`.
    public var checks: [CheckDeclaration]
    /// The accounts in the order of the file, or by id if they are files of a folder; `nil` if the
    /// file has no `accounts`. The jobs are then those of an account that declares nothing of its
    /// own, and their options lack the sections that an account may have.
    public var accounts: [AccountDeclaration]?
    /// The folder with the accounts' files, if the file names one.
    public var accountsFolder: String?
    /// The file as it was read before, and the indices of the accounts that differ.
    var lineage = Lineage<[Int]>()
    /// The variables in which this file or single accounts have master keys and the secrets of
    /// notices: no program of the file may find them.
    public internal(set) var secretVariables: Set<String> = []
    /// The account whose view of the file this is (`view(of:)`).
    public internal(set) var account: AccountDeclaration?
    /// The identity of this machine, which determines each account's delay.
    var host = ""
    /// The valid settings that can never take effect, in ascending order of line and column; empty
    /// unless the reader was given the current time.
    public internal(set) var warnings: [JobFileFault] = []

    /// All checks that jobs may need: the declared ones, then the probe, if there is one.
    public var questions: [CheckDeclaration] {
        let probe = conditions.probe.map { url in
            CheckDeclaration(name: CheckDeclaration.probeName, question: .url(url))
        }
        return checks + (probe.map { [$0] } ?? [])
    }

    /// The jobs to plan: the enabled ones, without references to disabled ones.
    public var enabledJobs: [Job] { JobFile.enabled(jobs, without: disabled) }

    static func enabled(_ jobs: [Job], without disabled: Set<JobID>) -> [Job] {
        // The same array, by which accounts with the same jobs are told at once.
        if disabled.isEmpty { return jobs }
        return jobs.filter { !disabled.contains($0.id) }.map { job in
            var job = job
            job.then.removeAll { disabled.contains($0) }
            job.thenFailed.removeAll { disabled.contains($0) }
            return job
        }
    }
}

extension JobFile {
    /// The enabled jobs, group by group: a group for each enabled account, or one for a file
    /// without accounts.
    public var groups: [JobGroup] {
        if let account {
            let jobs = JobFile.enabled(account.jobs, without: account.disabled)
            return [
                JobGroup(
                    account: account.id, jobs: account.isEnabled ? jobs : [],
                    sections: account.sections, host: host)
            ]
        }
        guard let accounts else { return [JobGroup(jobs: enabledJobs, sections: sections)] }
        var enabled = EnabledJobs()
        return accounts.filter(\.isEnabled).map { group(of: $0, &enabled) }
    }

    private func group(of account: AccountDeclaration, _ enabled: inout EnabledJobs) -> JobGroup {
        JobGroup(
            account: account.id, jobs: enabled.jobs(of: account), sections: account.sections,
            host: host)
    }

    /// The sections of all groups.
    public var groupedSections: [SectionValues] {
        guard account == nil, let accounts else { return groups.map(\.sections) }
        return accounts.filter(\.isEnabled).map(\.sections)
    }

    /// The number of jobs in all groups.
    public var groupedJobCount: Int {
        guard account == nil, let accounts else { return groups.reduce(0) { $0 + $1.jobs.count } }
        var enabled = EnabledJobs()
        return accounts.reduce(0) { $0 + ($1.isEnabled ? enabled.jobs(of: $1).count : 0) }
    }

    /// Returns the accounts that differ from those of a file that was read before, as they were and
    /// as they are; `nil` if anything else may differ, such as which accounts there are.
    public func changedAccounts(
        since former: JobFile
    ) -> [(former: AccountDeclaration, now: AccountDeclaration)]? {
        guard let accounts, let others = former.accounts else { return nil }
        return lineage.changes(since: former.lineage)?.map { (others[$0], accounts[$0]) }
    }

    /// Returns the groups that differ from those of a file that was read before; `nil` if anything
    /// else may differ, such as which accounts are enabled.
    public func changedGroups(since former: JobFile) -> [JobGroup]? {
        guard let changed = changedAccounts(since: former),
            changed.allSatisfy({ $0.former.isEnabled == $0.now.isEnabled })
        else { return nil }
        var enabled = EnabledJobs()
        return changed.map(\.now).filter(\.isEnabled).map { group(of: $0, &enabled) }
    }

    /// Returns a group for each of `count` invented accounts, which declare nothing of their own.
    public func invented(_ count: Int) -> [JobGroup] {
        let jobs = enabledJobs
        return (1...count).compactMap { AccountID("a\($0)") }
            .map { JobGroup(account: $0, jobs: jobs, host: host) }
    }

    /// The jobs of every account, each kind of them once: for questions about what jobs need.
    public var distinctJobs: [Job] {
        guard let accounts else { return enabledJobs }
        var enabled = EnabledJobs()
        var lists: [[Job]] = []
        var seen: Set<[Job]> = []
        // Most accounts share one list, which is cheaper to recognise by its place than to hash.
        var places: Set<UnsafePointer<Job>?> = []
        for account in accounts where account.isEnabled {
            let jobs = enabled.jobs(of: account)
            if places.insert(jobs.place).inserted, seen.insert(jobs).inserted { lists.append(jobs) }
        }
        return lists.flatMap(\.self)
    }

    /// Returns the file as one account sees it: with its jobs, named `account/job`, and settings.
    public func view(of account: AccountDeclaration) -> JobFile {
        var file = self
        file.sections.merge(account.sections)
        file.account = account
        file.accounts = nil
        let group = JobGroup(
            account: account.id, jobs: account.jobs, sections: account.sections, host: host)
        file.jobs = group.wholeJobs
        file.disabled = Set(
            account.isEnabled
                ? account.disabled.map { JobID(account.id, $0) } : file.jobs.map(\.id))
        let held =
            account.fault.map { fault in account.jobs.map { ($0.id, fault) } } ?? Array(self.held)
        file.held = Dictionary(held.map { (JobID(account.id, $0.0), $0.1) }) { first, _ in first }
        return file
    }

    /// Returns the file with the jobs of all accounts, named `account/job`.
    public var expanded: JobFile {
        guard let accounts else { return self }
        var file = self
        (file.jobs, file.disabled, file.held) = ([], [], [:])
        for account in accounts {
            let view = view(of: account)
            file.jobs += view.jobs
            file.disabled.formUnion(view.disabled)
            file.held.merge(view.held) { first, _ in first }
        }
        return file
    }
}

/// Makes the enabled jobs of accounts, once for all accounts that share their jobs.
private struct EnabledJobs {
    private var known: [UnsafePointer<Job>?: [(disabled: Set<JobID>, enabled: [Job])]] = [:]

    mutating func jobs(of account: AccountDeclaration) -> [Job] {
        if account.disabled.isEmpty { return account.jobs }
        let place = account.jobs.place
        let made = known[place]?.first { $0.disabled == account.disabled }
        if let made { return made.enabled }
        let enabled = JobFile.enabled(account.jobs, without: account.disabled)
        known[place, default: []].append((account.disabled, enabled))
        return enabled
    }
}

extension [Job] {
    /// Where the jobs are, by which arrays that are one and the same are told at once.
    fileprivate var place: UnsafePointer<Job>? { withUnsafeBufferPointer(\.baseAddress) }
}

/// A fault in a job file, or a setting that can never take effect.
public struct JobFileFault: Error, Hashable, Sendable {
    /// The line, from 1; 0 if the fault concerns the whole file.
    public var line: Int
    /// The column in characters, from 1; 0 if the fault concerns the whole file.
    public var column: Int
    /// A lowercase fragment without a final period. Values from the file are in `backticks`,
    /// shortened and without control characters.
    public var message: String
    /// The remedy, if it is certain or the possible answers are few.
    public var help: String?
    /// The path of the affected key or value, such as `jobs[2].schedule.cron`; `nil` if the fault
    /// concerns the whole file, or the file cannot be parsed.
    public internal(set) var path: String?
    /// The position of that key or value in the tree.
    var place: YAMLNode.Position?
    /// The path of the account's file that has the fault; `nil` for the job file itself.
    public internal(set) var file: String?
    /// Who else may write the file, if that is the fault.
    var writer: Writer?

    /// Returns a fault or warning that has no place in the file.
    public static func general(_ message: String, help: String? = nil) -> JobFileFault {
        JobFileFault(line: 0, column: 0, message: message, help: help)
    }

    /// Somebody who may write a file, and must not.
    public enum Writer: Hashable, Sendable {
        /// The owner of the file, of a folder above it or of a link to it.
        case owner(UInt32)
        /// The group or others, by the mode.
        case mode
    }

    /// Returns the fault for people: `jobs.yaml:12:9: unknown key ...`, with `help: ...` on a line
    /// of its own.
    ///
    /// - Parameter path: the file's path.
    public func text(path: String, isWarning: Bool = false) -> String {
        let path = file ?? path
        let place = line == 0 ? "\(path): " : "\(path):\(line):\(column): "
        let message = (isWarning ? "warning: " : "") + message
        return place + message + (help.map { "\nhelp: \($0)" } ?? "")
    }
}

/// All faults of a job file, in order of position.
public struct JobFileFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file's path as the caller gave it.
    public let path: String
    /// At least one fault, in ascending order of line and column.
    public let faults: [JobFileFault]
    /// The settings that can never take effect, as far as the file could be read.
    public let warnings: [JobFileFault]

    /// Creates a report from faults in any order; faults at the same position keep their order.
    public init(path: String, faults: [JobFileFault], warnings: [JobFileFault] = []) {
        self.path = path
        self.faults = faults.inOrder
        self.warnings = warnings.inOrder
    }

    /// Who else may write the file or one that it names; `nil` if only its text is at fault.
    public var writer: JobFileFault.Writer? { faults.lazy.compactMap(\.writer).first }

    /// All faults, one below the other.
    public var description: String {
        faults.map { $0.text(path: path) }.joined(separator: "\n")
    }
}

extension JobFileFault {
    init(_ position: YAMLNode.Position, _ message: String, help: String? = nil) {
        self.init(
            line: position.line, column: position.column, message: message, help: help,
            place: position)
    }
}

extension [JobFileFault] {
    /// The faults in ascending order of line and column; faults at the same position keep their
    /// order.
    var inOrder: [JobFileFault] {
        enumerated()
            .sorted { a, b in
                (a.element.file ?? "", a.element.line, a.element.column, a.offset)
                    < (b.element.file ?? "", b.element.line, b.element.column, b.offset)
            }
            .map(\.element)
    }

    /// Returns the same faults, each with its path in a tree.
    func placed(in root: YAMLNode) -> [JobFileFault] {
        guard !isEmpty else { return self }
        let paths = root.paths(of: Set(compactMap(\.place)))
        return map { fault in
            var fault = fault
            fault.path = fault.place.flatMap { paths[$0] }
            return fault
        }
    }
}
