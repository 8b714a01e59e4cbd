import ClarityScheduler
import Testing

@testable import HealthStore
@testable import HealthModel

@Suite("Which goal of freshness holds, and what is to blame") struct FreshnessRulingTests {
    private static let now = Instant(secondsSince1970: 1_760_000_000)
    private static func ago(_ hours: Int64) -> Instant { now - .seconds(hours * 3600) }

    /// Makes a job that the network holds back, or one that is merely due.
    private static func job(
        _ kind: String, isHeldBack: Bool = false, succeeded hours: Int64? = nil
    ) -> BringingJob {
        BringingJob(
            id: "the-\(kind)", kind: JobKind(kind),
            status: isHeldBack ? "waits for network" : "is due",
            isHeldBack: isHeldBack, lastSuccess: hours.map(ago))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var subject = FreshnessGoal.Subject.samples(.heartRate)
        /// How many hours ago the newest sample ended.
        var newest: Int64?
        var elsewhere: [FreshnessFacts.Place: Int64] = [:]
        var reading: Int64?
        var jobs = [job("bulk-upload")]
        var isLoggedIn = true
        var blame: FreshnessVerdict.Blame?
    }

    /// The goal of every row is 26 hours.
    @Test(arguments: [
        Row(testDescription: "young enough", newest: 25),
        Row(testDescription: "exactly as old as it may be", newest: 26),
        Row(testDescription: "of a clock that was ahead", newest: -2),
        Row(
            testDescription: "young enough while newer ones wait", newest: 25,
            elsewhere: [.waiting: 1], jobs: [job("bulk-upload", isHeldBack: true)]),
        Row(
            testDescription: "a newer one waits for its job", newest: 27,
            elsewhere: [.waiting: 1], jobs: [job("bulk-upload", isHeldBack: true)],
            blame: .job(job("bulk-upload", isHeldBack: true))),
        Row(
            testDescription: "the first sample ever waits for a job that is merely not due",
            elsewhere: [.waiting: 1], blame: .job(job("bulk-upload"))),
        Row(
            testDescription: "a newer one waits and nobody is logged in", newest: 27,
            elsewhere: [.waiting: 1], isLoggedIn: false, blame: .login),
        Row(
            testDescription: "a newer one waits and nothing sends it", newest: 27,
            elsewhere: [.waiting: 1], jobs: [job("refresh")], blame: .noJob),
        Row(
            testDescription: "taken and never confirmed", newest: 27,
            elsewhere: [.unconfirmed: 3], blame: .backend),
        Row(
            testDescription: "set aside", newest: 27, elsewhere: [.setAside: 3],
            blame: .person(.setAside)),
        Row(
            testDescription: "rejected", newest: 27, elsewhere: [.rejected: 3],
            blame: .person(.rejected)),
        Row(
            testDescription: "of several places the newest counts", newest: 27,
            elsewhere: [.waiting: 9, .setAside: 3, .unconfirmed: 5], blame: .person(.setAside)),
        Row(
            testDescription: "of places alike, what waits counts", newest: 27,
            elsewhere: [.waiting: 3, .setAside: 3], blame: .job(job("bulk-upload"))),
        Row(
            testDescription: "what is set aside and too old does not count", newest: 40,
            elsewhere: [.setAside: 27], reading: 2, blame: .source(lastReading: ago(2))),
        Row(
            testDescription: "what waits counts, though it is too old", newest: 40,
            elsewhere: [.waiting: 27], reading: 2, blame: .job(job("bulk-upload"))),
        Row(
            testDescription: "old data waits, none was ever sent, and nobody is logged in",
            elsewhere: [.waiting: 300], reading: 2, isLoggedIn: false, blame: .login),
        Row(
            testDescription: "what waits and is older than what arrived does not count", newest: 40,
            elsewhere: [.waiting: 41], reading: 2, blame: .source(lastReading: ago(2))),
        Row(
            testDescription: "read lately, and there was nothing newer", newest: 40, reading: 2,
            jobs: [job("bulk-upload", isHeldBack: true)], blame: .source(lastReading: ago(2))),
        Row(
            testDescription: "the job succeeded lately and found nothing to read", newest: 40,
            reading: 90, jobs: [job("bulk-upload", succeeded: 3)],
            blame: .source(lastReading: ago(3))),
        Row(
            testDescription: "not read for long, since the job is held back", newest: 40,
            reading: 39, jobs: [job("bulk-upload", isHeldBack: true, succeeded: 38)],
            blame: .job(job("bulk-upload", isHeldBack: true, succeeded: 38))),
        Row(
            testDescription: "not read for long, and nothing holds the job back", newest: 40,
            reading: 39, blame: .source(lastReading: ago(39))),
        Row(testDescription: "never read", blame: .source(lastReading: nil)),
        Row(testDescription: "no job reads", jobs: [], blame: .noJob),
        Row(testDescription: "an insight young enough", subject: .insights, newest: 1),
        Row(
            testDescription: "insights are pulled, and there is no newer one", subject: .insights,
            newest: 40, jobs: [job("refresh"), job("insight-history", succeeded: 2)],
            blame: .backend),
        Row(
            testDescription: "insights are not pulled", subject: .insights, newest: 40,
            jobs: [job("refresh", succeeded: 2), job("insight-history", succeeded: 27)],
            blame: .job(job("insight-history", succeeded: 27))),
        Row(
            testDescription: "insights come with refresh where nothing else pulls them",
            subject: .insights, jobs: [job("refresh", isHeldBack: true)],
            blame: .job(job("refresh", isHeldBack: true))),
        Row(
            testDescription: "nobody is logged in to pull", subject: .profile, newest: 40,
            jobs: [job("refresh")], isLoggedIn: false, blame: .login),
        Row(
            testDescription: "nothing pulls the profile", subject: .profile, newest: 40,
            blame: .noJob),
    ])
    func `a goal holds, or its verdict says what is to blame`(row: Row) {
        var facts = FreshnessFacts()
        facts.newest = row.newest.map(Self.ago)
        facts.elsewhere = row.elsewhere.mapValues(Self.ago)
        facts.lastReading = row.reading.map(Self.ago)

        let verdict = FreshnessVerdict(
            on: FreshnessGoal(row.subject, within: .seconds(26 * 3600)), facts, jobs: row.jobs,
            isLoggedIn: row.isLoggedIn, now: Self.now)

        #expect(verdict.blame == row.blame)
        #expect(verdict.holds == (row.blame == nil))
        #expect(verdict.age == row.newest.map { .seconds(max($0, 0) * 3600) })
    }

    @Test func `a default goal asks of the jobs and not of the wearer`() {
        func holds(
            _ subject: FreshnessGoal.Subject = .samples(.heartRate), waiting: Int64? = nil,
            _ jobs: [BringingJob] = [Self.job("bulk-upload", succeeded: 3)], isLoggedIn: Bool = true
        ) -> Bool {
            var facts = FreshnessFacts()
            facts.newest = Self.ago(60)
            facts.elsewhere = waiting.map { [.waiting: Self.ago($0)] } ?? [:]
            let goal = FreshnessGoal(subject, within: .seconds(48 * 3600), isDefault: true)
            return FreshnessVerdict(
                on: goal, facts, jobs: jobs, isLoggedIn: isLoggedIn, now: Self.now
            ).holds
        }

        #expect(holds())
        #expect(holds(.insights, [Self.job("insight-history", succeeded: 3)]))
        #expect(!holds(waiting: 5))
        #expect(!holds(waiting: 5, isLoggedIn: false))
        #expect(
            !holds(.samples(.heartRate), [Self.job("bulk-upload", isHeldBack: true, succeeded: 50)])
        )
        #expect(!holds(.insights, [Self.job("insight-history", succeeded: 50)]))
    }

    @Test func `a default goal follows from the schedule of the job that brings its subject`() {
        var jobs = [
            Self.job("bulk-upload"), Self.job("refresh"), Self.job("insight-history"),
        ]
        jobs[0].gap = .seconds(3600)
        jobs[2].gap = .seconds(7 * 86_400)

        let goals = FreshnessGoal.defaults(
            for: [.samples(.steps), .insights, .profile], jobs: jobs)

        #expect(
            goals == [
                FreshnessGoal(.samples(.steps), within: .seconds(2 * 86_400), isDefault: true),
                FreshnessGoal(.insights, within: .seconds(21 * 86_400), isDefault: true),
            ])
    }

    @Test func `the goals of an order are read in the order of their kinds`() throws {
        let goals = try SectionValues([
            "fresh.insights": "129600000", "fresh.steps": "61000", "fresh.heart_rate": "93600000",
            "backend.url": "x",
        ]).freshness

        #expect(
            goals == [
                FreshnessGoal(.samples(.heartRate), within: .seconds(93_600)),
                FreshnessGoal(.samples(.steps), within: .seconds(61)),
                FreshnessGoal(.insights, within: .seconds(129_600)),
            ])
        #expect(
            throws: Failure(
                .configuration, "`fresh.profile` is not 60000 to 316224000000 milliseconds")
        ) {
            try SectionValues(["fresh.profile": "1d"]).freshness
        }
    }

    @Test func `the job file takes a goal for each kind of sample, the insights and the profile`() {
        let section = clarityCatalogue.sections.first { $0.key == "fresh" }
        guard case .mapping(let options) = section?.content else {
            Issue.record("`fresh` is no mapping")
            return
        }

        #expect(
            options.map(\.key) == SampleKind.allCases.map(\.rawValue) + ["insights", "profile"])
        #expect(options.allSatisfy { $0.defaultValue == nil && !$0.isRequired })
    }
}
