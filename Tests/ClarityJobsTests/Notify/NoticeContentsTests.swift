import HealthStore
import ClarityScheduler
import ClarityTestSupport
import JSON
import Synchronization
import Testing

@testable import Backend
@testable import ClarityJobs

/// What a message says, to whom, and when it comes again.
@Suite("The contents of notices")
struct NoticeContentsTests {
    private static let ntfy = ["notify.0.kind": "ntfy", "notify.0.url": "https://ntfy.example/t"]
    private static let failed = Notice(
        .jobFailed, about: "backup", "job `backup` failed: no space left",
        details: ["| last line", "3 failures in a row"])

    private func attempt(
        _ bench: WorkBench, _ active: [Notice], _ options: [String: String] = [:],
        context: NoticeContext = NoticeContext(host: "nas")
    ) async {
        let all = Notice.options(active).merging(context.options) { $1 }
            .merging(Self.ntfy) { $1 }.merging(options) { $1 }
        _ = await bench.attempt("notify", all)
    }

    private func bodies(_ bench: WorkBench) -> [String] {
        bench.backend.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) }
    }

    private func header(_ name: String, _ bench: WorkBench) -> [String] {
        bench.backend.requests.map { request in
            request.headers.first { $0.name == name }.map(\.text) ?? "none"
        }
    }

    @Test func `a title names machine and job, and the body has reason, output and stretch`()
        async throws
    {
        let bench = WorkBench()

        await attempt(
            bench, [Self.failed],
            ["notify.0.pages": "https://nas.example/", "notify.0.priority": "urgent"])
        await attempt(
            bench, [], ["notify.0.pages": "https://nas.example/"],
            context: NoticeContext(host: "nas", failures: ["backup": 3]))

        #expect(
            bodies(bench) == [
                "job `backup` failed: no space left\n| last line\n3 failures in a row\n"
                    + "https://nas.example/jobs\n",
                "job `backup` works again after 3 failures\nhttps://nas.example/jobs\n",
            ])
        #expect(
            header("Title", bench) == [
                "nas: job `backup` failed", "nas: job `backup` works again after 3 failures",
            ])
        #expect(header("Priority", bench) == ["urgent", "default"])
        #expect(header("Click", bench).allSatisfy { $0 == "https://nas.example/jobs" })
    }

    @Test func `a target without output gets none of what a program wrote`() async {
        let bench = WorkBench()

        await attempt(bench, [Self.failed], ["notify.0.output": "false"])

        #expect(bodies(bench) == ["job `backup` failed: no space left\n3 failures in a row\n"])
    }

    @Test func `a target of some jobs gets their notices alone`() async {
        let bench = WorkBench()
        let others = [
            Notice(.jobFailed, about: "fetch", "job `fetch` failed"), Notice(.backupOld, "old"),
        ]

        await attempt(bench, [Self.failed] + others, ["notify.0.jobs": "backup\nweekly"])

        #expect(bodies(bench).count == 1 && bodies(bench)[0].hasPrefix("job `backup` failed"))
        #expect(!bodies(bench)[0].contains("fetch") && !bodies(bench)[0].contains("old"))
    }

    @Test func `a notice comes again after the time of repeat, until it is over`() async {
        let bench = WorkBench()
        let daily = ["notify.0.repeat": "86400000"]

        await attempt(bench, [Self.failed], daily)
        bench.clock.advance(by: .seconds(86_000))
        await attempt(bench, [Self.failed], daily)
        bench.clock.advance(by: .seconds(1000))
        await attempt(bench, [Self.failed], daily)
        await attempt(bench, [Self.failed], daily)
        await attempt(bench, [], daily)
        bench.clock.advance(by: .seconds(200_000))
        await attempt(bench, [], daily)

        let first = bodies(bench).map { $0.prefix { $0 != "\n" } }
        #expect(
            first == [
                "job `backup` failed: no space left", "still: job `backup` failed: no space left",
                "job `backup` works again",
            ])
        #expect(header("Title", bench)[1] == "nas: job `backup` still fails")
    }

    @Test func `a failed job that left the job file is not said to work again`() async {
        let bench = WorkBench()

        await attempt(bench, [Self.failed], [:])
        await attempt(bench, [], [:], context: NoticeContext(failures: ["fetch": 0]))

        #expect(bodies(bench).last == "job `backup` is no longer in the job file\n")
    }

    @Test func `a reminder that could not be sent is sent at the next try, and once`() async {
        let isDown = Mutex(false)
        let bench = WorkBench { _ in isDown.withLock { $0 } ? .status(503) : .ok("{}") }
        let daily = ["notify.0.repeat": "86400000"]

        await attempt(bench, [Self.failed], daily)
        bench.clock.advance(by: .seconds(90_000))
        isDown.withLock { $0 = true }
        await attempt(bench, [Self.failed], daily)
        isDown.withLock { $0 = false }
        await attempt(bench, [Self.failed], daily)
        await attempt(bench, [Self.failed], daily)
        await attempt(bench, [], daily)

        let first = bodies(bench).map { $0.split(separator: "\n").first ?? "" }
        #expect(
            first == [
                "job `backup` failed: no space left", "still: job `backup` failed: no space left",
                "still: job `backup` failed: no space left", "job `backup` works again",
            ])
    }

    @Test func `a reminder waits for the end of the quiet hours`() async {
        // 2025-10-09 08:53:20 UTC.
        let bench = WorkBench()
        let options = ["notify.0.repeat": "82800000", "notify.0.quiet": "07:00-09:00"]

        bench.clock.advance(by: .seconds(600))
        await attempt(bench, [Self.failed], options)
        bench.clock.advance(by: .seconds(82_900))
        await attempt(bench, [Self.failed], options)
        let quiet = bodies(bench).count
        bench.clock.advance(by: .seconds(3600))
        await attempt(bench, [Self.failed], options)

        #expect(quiet == 1 && bodies(bench).count == 2)
    }

    @Test func `the details are fields of the JSON for programs`() async throws {
        let bench = WorkBench()
        let message = NoticeMessage.of([Self.failed], at: bench.clock.now)
        var target = NoticeTarget(.webhook)
        let whole = try JSONParser.parse(message.json(for: target))
        target.rules.showsOutput = false
        let bare = try JSONParser.parse(message.json(for: target))

        let details = { (json: JSON) -> [JSON] in
            guard case .array(let notices)? = json["notices"] else { return [] }
            return notices.compactMap { $0["details"] }
        }
        #expect(details(whole) == [["| last line", "3 failures in a row"]])
        #expect(details(bare) == [["3 failures in a row"]])
    }

    @Test func `http to another machine goes out only where the job file allows it`() async {
        let bench = WorkBench()

        await attempt(
            bench, [Self.failed],
            ["notify.0.url": "http://192.0.2.7/t", "notify.0.allow_http": "true"])

        #expect(bench.backend.requests.map(\.allowsPlainHTTP) == [true])
    }
}
