public import ClarityScheduler
import Platform

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

    /// The name for the account's id in paths of the job file.
    static let placeholder = "{account}"
}

extension AccountDeclaration {
    /// Creates an account of which nothing is known but its id.
    public init(id: AccountID) {
        self.init(id: id, login: nil, isEnabled: true, sections: SectionValues(), jobs: [], disabled: [])
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
        // Accounts that share their jobs also share the enabled ones.
        var shared: (all: [Job], disabled: Set<JobID>, enabled: [Job])?
        return accounts.filter(\.isEnabled).map { account in
            if shared?.all != account.jobs || shared?.disabled != account.disabled {
                shared = (
                    account.jobs, account.disabled,
                    JobFile.enabled(account.jobs, without: account.disabled)
                )
            }
            return JobGroup(
                account: account.id, jobs: shared?.enabled ?? [], sections: account.sections,
                host: host)
        }
    }

    /// Returns a group for each of `count` invented accounts, which declare nothing of their own.
    public func invented(_ count: Int) -> [JobGroup] {
        let jobs = enabledJobs
        return (1...count).compactMap { AccountID("a\($0)") }
            .map { JobGroup(account: $0, jobs: jobs, host: host) }
    }

    /// The jobs of every account, each kind of them once: for questions about what jobs need.
    public var distinctJobs: [Job] {
        guard accounts != nil else { return enabledJobs }
        var lists: [[Job]] = []
        // Most accounts share the first list, which is cheaper to compare than to hash.
        var seen: Set<[Job]> = []
        for group in groups where group.jobs != lists.first && seen.insert(group.jobs).inserted {
            lists.append(group.jobs)
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
        return file
    }

    /// Returns the file with the jobs of all accounts, named `account/job`.
    public var expanded: JobFile {
        guard let accounts else { return self }
        var file = self
        (file.jobs, file.disabled) = ([], [])
        for account in accounts {
            let view = view(of: account)
            file.jobs += view.jobs
            file.disabled.formUnion(view.disabled)
        }
        return file
    }
}
