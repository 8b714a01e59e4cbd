import ClarityTestSupport
import Testing

@testable import ClarityScheduler

struct AccountsTests {
    /// A set in which each account has the same jobs.
    private func set(
        _ accounts: [String], _ jobs: [Job], options: [String: [String: String]] = [:],
        replacing former: JobSet? = nil
    ) throws -> JobSet {
        JobSet(
            try accounts.map { name in
                let account: AccountID = try #require(AccountID(name))
                var sections = SectionValues(options[name] ?? [:])
                sections.sourcePaths = options[name].map { Array($0.values) } ?? []
                return JobGroup(account: account, jobs: jobs, sections: sections, host: "host")
            }, replacing: former)
    }

    private func desk(_ jobs: JobSet, maxParallel: Int = 4) throws -> PlanningDesk {
        var desk = PlanningDesk([], maxParallel: maxParallel)
        try desk.handle(.reload(jobs, maxParallel: maxParallel))
        return desk
    }

    @Test func `a job runs once for each account, with that account's options`() throws {
        var upload = try job("upload", schedule: .every(.seconds(3600)))
        upload.options = ["page_size": "10", "sources.0.path": "none"]
        let jobs = try set(
            ["anna", "ben"], [upload],
            options: ["anna": ["sources.0.path": "/a"], "ben": ["sources.0.path": "/b"]])
        var desk = PlanningDesk([])

        let plan = try desk.handle(.reload(jobs, maxParallel: 4))

        #expect(plan.started.map(\.job.rawValue) == ["anna/upload", "ben/upload"])
        #expect(plan.started.map { $0.options["sources.0.path"] } == ["/a", "/b"])
        #expect(plan.started.allSatisfy { $0.options["page_size"] == "10" })
    }

    @Test func `a run that waits for a slot is told the runs of its own account alone`() throws {
        let jobs = try set(
            ["anna", "ben"],
            [job("one", schedule: nil), job("two", schedule: nil), job("three", schedule: nil)])
        var desk = try desk(jobs, maxParallel: 2)

        for (account, name) in [("anna", "one"), ("ben", "one"), ("ben", "two"), ("anna", "two")] {
            try desk.handle(.requested([try id("\(account)/\(name)")], isForced: false))
        }

        let measured = desk.store.deferrals.sorted { $0.key < $1.key }
            .map { $0.value.map(\.measured) }
        #expect(
            measured == [
                ["2: run 2 of ben/one in this process and 1 of other accounts"],
                ["2: run 1 of anna/one in this process and 1 of other accounts"],
            ])
    }

    @Test func `what follows a run stays within its account`() throws {
        let told = EventName("told")
        var upload = try job("upload", schedule: nil, then: [id("poll")])
        upload.emits = [told]
        let jobs = try set(
            ["anna", "ben"],
            [upload, job("poll", schedule: nil), job("listener", schedule: nil, events: [told])])
        var desk = try desk(jobs)
        try desk.handle(.requested([try id("ben/upload")], isForced: false))

        var end = AttemptEnd.success()
        end.events = [told]
        let plan = try desk.handle(.finished(RunID(1), end))

        #expect(
            Set(plan.started.map(\.job.rawValue)) == ["ben/poll", "ben/listener"])
    }

    @Test func `a changed source starts the jobs of the account that reads it`() throws {
        let jobs = try set(
            ["anna", "ben"], [try job("upload", schedule: nil, events: [.sourceChanged])],
            options: ["anna": ["sources.0.path": "/a"], "ben": ["sources.0.path": "/b"]])
        var desk = try desk(jobs)
        let before = SourceFingerprint(isFolder: false, files: 1, newestChange: 1)
        let after = SourceFingerprint(isFolder: false, files: 1, newestChange: 2)
        try desk.handle(.sourcesSeen(["/a": before, "/b": before]))
        for run in try desk.store.ledger().open.keys.sorted() {
            try desk.handle(.finished(run, .success()))
        }

        let plan = try desk.handle(.sourcesSeen(["/a": before, "/b": after]))

        #expect(plan.started.map(\.job.rawValue) == ["ben/upload"])
    }

    @Test func `each account waits for its own login`() throws {
        let jobs = try set(["anna", "ben"], [try job("upload", schedule: nil)])
        var desk = try desk(jobs)
        try desk.handle(
            .requested([try id("anna/upload"), try id("ben/upload")], isForced: false))
        for run in [RunID(1), RunID(2)] {
            let end = AttemptEnd(
                .reported(.awaits(.login, Failure(.credential, "nobody is logged in"))))
            try desk.handle(.finished(run, end))
        }
        let anna = try #require(AccountID("anna"))
        desk.conditions.accounts[anna] = Conditions.OfAccount(
            login: .init(true, source: "test"))

        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.started.map(\.job.rawValue) == ["anna/upload"])
        #expect(plan.waiting.map(\.job.rawValue) == ["ben/upload"])
    }

    /// An account with a long queue that has been due for an hour, and one with two new runs.
    ///
    /// A decision of another process requests the runs, because what a process requests itself
    /// comes first.
    @Test func `accounts take turns, so that no queue keeps another account waiting`() throws {
        let names = (1...6).map { "j\($0)" }
        let jobs = try set(["anna", "ben"], try names.map { try job($0, schedule: nil) })
        let store = MemoryRunStore()
        var desk = PlanningDesk(jobs.jobs, store: store, maxParallel: 1)
        var clerk = PlanningDesk(jobs.jobs, store: store, owner: "clerk", scope: .nothing)
        let ofAnna = try names.map { try id("anna/\($0)") }
        try clerk.handle(.requested(ofAnna, isForced: false))
        desk.pass(.seconds(3600))
        clerk.pass(.seconds(3600))
        try clerk.handle(.requested([try id("ben/j1"), try id("ben/j2")], isForced: false))
        var started = try desk.handle(.tick).started.map(\.job.rawValue)

        for _ in 1...7 {
            let running = try desk.store.ledger().open.values.first { $0.state == .running }
            let plan = try desk.handle(.finished(try #require(running).id, .success()))
            started += plan.started.map(\.job.rawValue)
        }

        #expect(
            started == [
                "anna/j1", "ben/j1", "anna/j2", "ben/j2", "anna/j3", "anna/j4", "anna/j5",
                "anna/j6",
            ])
    }

    @Test func `the accounts' starts are spread over the time that the job names`() throws {
        var upload = try job("upload", schedule: .every(.seconds(3600), phase: .zero))
        upload.accountSpread = .seconds(3600)
        let names = (0..<1000).map { "w\($0)" }
        let jobs = try set(names, [upload])
        var desk = PlanningDesk([], maxParallel: 10_000)
        var counts: [Int] = []
        try desk.handle(.reload(jobs, maxParallel: 10_000))

        for _ in 0..<60 {
            desk.pass(.seconds(60))
            counts.append(try desk.handle(.tick).started.count)
        }

        #expect(counts.reduce(0, +) == 1000)
        // 16.7 a minute on average; by chance alone hardly ever more than twice as many.
        #expect(counts.max() ?? 0 < 40)
        #expect(counts.min() ?? 0 > 2)
    }

    /// Some of the groups change: their jobs, sources and limits, and which accounts there are.
    @Test(arguments: UInt64(1)...20)
    func `a set with some groups replaced is as one that is made of all groups`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        let schedules: [Schedule?] = [.every(.seconds(3600)), .every(.seconds(60)), nil]
        var groups = try (0..<30).map { try group("a\($0)", random.next(), schedules) }
        var jobs = JobSet(groups)
        var replaced = 0

        for _ in 0..<50 {
            let former = jobs
            let changed = (0..<Int.random(in: 0...3, using: &random))
                .map { _ in Int.random(in: groups.indices, using: &random) }
            for index in Set(changed) {
                let name = try #require(groups[index].account).rawValue
                groups[index] = try group(name, random.next(), schedules)
            }
            let short = jobs.replacing(Set(changed).map { groups[$0] })
            replaced += short == nil ? 0 : 1
            jobs = short ?? JobSet(groups, replacing: jobs)

            let whole = JobSet(groups, replacing: former)
            #expect(jobs == whole, "seed \(seed)")
            #expect(jobs.jobs == JobSet(groups).jobs)
            #expect(jobs.places(changedSince: former) == whole.places(changedSince: former))
            #expect(jobs.places(changedSince: jobs) == [])
        }
        #expect(replaced > 10)
    }

    /// Returns one of a few groups of an account.
    private func group(
        _ name: String, _ choice: UInt64, _ schedules: [Schedule?]
    ) throws -> JobGroup {
        let account: AccountID = try #require(AccountID(name))
        var one = try job("one", schedule: schedules[Int(choice % 3)])
        if choice % 7 == 0 { one.events = [.sourceChanged] }
        if choice % 11 == 0 { one.groups = [LimitGroup("few", atOnce: 1)] }
        let jobs = choice % 13 == 0 ? [one, try job("two", schedule: nil)] : [one]
        var sections = SectionValues()
        sections.sourcePaths = choice % 5 == 0 ? ["/\(name)"] : []
        return JobGroup(account: account, jobs: jobs, sections: sections, host: "host")
    }

    @Test func `accounts that come and go leave the others' plans alone`() throws {
        let upload = try job("upload", schedule: .every(.seconds(3600), phase: .zero))
        let first = try set(["anna", "ben", "carl"], [upload])
        let second = try set(["anna", "carl", "dora"], [upload], replacing: first)
        let third = try set(["anna", "carl", "dora", "ben"], [upload], replacing: second)
        var desk = PlanningDesk([], maxParallel: 10)

        /// Returns the accounts whose jobs started within an hour.
        func startsOfAnHour(_ jobs: JobSet) throws -> Set<String> {
            desk.pass(.seconds(1800))
            let plans = [
                try desk.handle(.reload(jobs, maxParallel: 10)),
                try {
                    desk.pass(.seconds(1800)); return try desk.handle(.tick)
                }(),
            ]
            let started = plans.flatMap(\.started)
            for order in started { try desk.handle(.finished(order.run, .success())) }
            return Set(started.compactMap { $0.job.account?.rawValue })
        }

        #expect(try startsOfAnHour(first) == ["anna", "ben", "carl"])
        #expect(try startsOfAnHour(second) == ["anna", "carl", "dora"])
        #expect(try startsOfAnHour(third) == ["anna", "carl", "dora", "ben"])
        #expect(try startsOfAnHour(first) == ["anna", "ben", "carl"])
    }
}
