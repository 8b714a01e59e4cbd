import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Database
import JSON
import Synchronization
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

@Suite("Notices, told to their targets")
struct NotifyAttemptTests {
    private static let ntfy = ["notify.0.kind": "ntfy", "notify.0.url": "https://ntfy.example/t"]
    private static let failed = Notice(.jobFailed, about: "upload", "job `upload` failed")

    /// Runs an attempt in which these notices are active.
    private func attempt(
        _ bench: WorkBench, _ active: [Notice], _ options: [String: String] = ntfy
    ) async -> (outcome: Outcome, reports: Reports) {
        await bench.attempt("notify", Notice.options(active).merging(options) { $1 })
    }

    private func bodies(_ bench: WorkBench) -> [String] {
        bench.backend.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) }
    }

    @Test func `a notice is told once, and once more when it is over`() async throws {
        let bench = WorkBench()

        for active in [[Self.failed], [Self.failed], [], []] {
            #expect(await attempt(bench, active).outcome == .success)
        }

        #expect(bodies(bench) == ["job `upload` failed\n", "job `upload` works again\n"])
        let request = try #require(bench.backend.requests.first)
        #expect(
            request.method == .post && request.url == "https://ntfy.example/t" && request.isOnce)
        #expect(
            request.headers.map(\.text) == [
                "clarity-jobs: job `upload` failed", "warning", "high",
            ])
        let list = try bench.store().notices.list(9)
        #expect(list.map(\.sent) == [2] && list.map(\.waiting) == [0] && list.map(\.twice) == [0])
    }

    @Test(arguments: Notice.Kind.allCases)
    func `a target gets the kinds that it names, and no other`(kind: Notice.Kind) async throws {
        let bench = WorkBench()
        let notices = Notice.Kind.allCases.map { Notice($0, about: "x", "text of \($0.rawValue)") }

        _ = await attempt(bench, notices, Self.ntfy.merging(["notify.0.on": kind.rawValue]) { $1 })

        #expect(bodies(bench) == ["text of \(kind.rawValue)\n"])
    }

    @Test func `several notices come as one message`() async {
        let bench = WorkBench()
        _ = await attempt(bench, [Self.failed])

        _ = await attempt(bench, [Notice(.diskLow, about: "a", "one"), Notice(.backupOld, "two")])

        #expect(bodies(bench).last == "job `upload` works again\none\ntwo\n")
        #expect(
            bench.backend.requests.last?.headers.first?.text
                == "clarity-jobs: 2 notices, 1 resolved")
    }

    @Test func `JSON for a webhook has at most 1 MiB, and says how many notices it lacks`()
        async throws
    {
        let bench = WorkBench()
        let many = (0..<6000).map {
            Notice(.jobFailed, about: "job\($0)", "job `job\($0)` failed; see `history show \($0)`")
        }

        let run = await bench.attempt(
            "notify",
            Notice.options(many).merging([
                "notify.0.kind": "webhook", "notify.0.url": "https://hook.example/a",
                "notify.0.secret": "KEY",
            ]) { $1 }, environment: ["KEY": "invented"])

        #expect(run.outcome == .success)
        let body = try #require(bench.backend.requests.first?.body)
        #expect((1_000_000...1_048_576).contains(body.count))
        let json = try JSONParser.parse(body)
        guard case .array(let notices)? = json["notices"] else {
            Issue.record("the message has no notices")
            return
        }
        #expect(json["more"] == .integer(Int64(6000 - notices.count)))
    }

    @Test func `a message that does not fit is cut at whole notices and whole characters`() {
        let lines = ["one", "zwölf", "drei"]

        #expect(NoticeMessage.text(of: lines, upTo: 16) == "one\nzwölf\ndrei\n")
        #expect(NoticeMessage.text(of: lines, upTo: 15) == "one\nand 2 more\n")
        #expect(NoticeMessage.text(of: ["ööööööö"], upTo: 17) == "ööööööö\n")
        #expect(NoticeMessage.text(of: ["ööööööööö"], upTo: 18) == "öööööööö\n")
        for limit in 14...40 {
            let text = NoticeMessage.text(of: ["👩‍👩‍👧‍👦ö", "two", "three", "four", "five"], upTo: limit)
            #expect(text.utf8.count <= limit && text.hasSuffix("\n"), "\(limit): \(text)")
        }
    }

    @Test func `a notice that ends before it is told is not told`() async {
        let bench = WorkBench { _ in .status(503) }

        let first = await attempt(bench, [Self.failed])
        let second = await attempt(bench, [])

        #expect(
            first.outcome
                == .retry(
                    after: nil,
                    Failure(.unreachable, "target `ntfy` answers 503; 1 notice not sent")))
        #expect(second.outcome == .success && bodies(bench).count == 1)
    }

    @Test(arguments: [
        (TransportError.couldNotConnect, Int64(0)), (.timeout, 1), (.reset, 1),
    ])
    func `a message that may have arrived is sent again, and counted`(
        error: TransportError, twice: Int64
    ) async throws {
        let first = Once()
        let bench = WorkBench { _ throws(TransportError) in
            if first.take() { throw error }
            return .ok("{}")
        }

        let lost = await attempt(bench, [Self.failed])
        let second = await attempt(bench, [Self.failed])

        #expect(lost.outcome != .success && second.outcome == .success)
        #expect(bodies(bench).count == 2)
        #expect(try bench.store().notices.list(1).map(\.twice) == [twice])
    }

    @Test func `a message that a killed attempt was sending is sent again`() async throws {
        let bench = WorkBench()
        let store = try bench.store()
        _ = try store.notices.update(
            [Self.failed],
            targets: [NoticeAddressee(name: "ntfy", kinds: Set(Notice.Kind.allCases))],
            at: bench.clock.now)
        try store.notices.begin(try store.notices.pending(for: "ntfy"), to: "ntfy")

        _ = await attempt(bench, [Self.failed])

        #expect(bodies(bench) == ["job `upload` failed\n"])
        #expect(try store.notices.list(1).map(\.twice) == [1])
    }

    @Test func `a target is told at most so often, and then of everything`() async {
        let bench = WorkBench()
        let options = Self.ntfy.merging(["notify.0.at_most": "1 \(6 * 3_600_000)"]) { $1 }
        _ = await attempt(bench, [Notice(.diskLow, about: "a", "a")], options)
        let names = ["a", "b", "c"].map { Notice(.diskLow, about: $0, $0) }

        _ = await attempt(bench, Array(names.prefix(2)), options)
        let early = bodies(bench).count
        bench.clock.advance(by: .seconds(6 * 3600))
        _ = await attempt(bench, names, options)

        #expect(early == 1 && bodies(bench) == ["a\n", "b\nc\n"])
    }

    @Test func `a target is told nothing in its quiet hours`() async {
        // 2025-10-09 08:53:20 UTC.
        let bench = WorkBench()
        let options = Self.ntfy.merging(["notify.0.quiet": "08:00-09:00"]) { $1 }

        _ = await attempt(bench, [Self.failed], options)
        let quiet = bodies(bench).count
        bench.clock.advance(by: .seconds(400))
        _ = await attempt(bench, [Self.failed], options)

        #expect(quiet == 0 && bodies(bench).count == 1)
    }

    @Test func `quiet hours in a time zone that nobody knows are a fault`() async {
        let bench = WorkBench()
        let options = Self.ntfy.merging(["notify.0.quiet": "08:00-09:00"]) { $1 }

        let run = await bench.attempt(
            "notify", Notice.options([Self.failed]).merging(options) { $1 },
            environment: ["TZ": "Mars/Base"])

        let failure = Failure(
            .configuration, "this machine's time zone `Mars/Base` is not known")
        #expect(run.outcome == .failure(failure))
    }

    @Test func `samples for a person and missed goals are found in the health data`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        try bench.enqueue(0..<3)
        let file = try FileConnection(path: "\(bench.state)/health.db", access: .readWrite)
        try file.execute("UPDATE outbox SET state = 'setAside', reason = 'invented'")

        _ = await attempt(bench, [], Self.ntfy.merging(["fresh.sleep": "86400000"]) { $1 })

        #expect(
            bodies(bench) == [
                """
                3 samples wait for your decision; see `clarity-jobs outbox`
                sleep is older than 1d; see `clarity-jobs status`

                """
            ])
    }

    @Test func `a target that is gone is told nothing more`() async throws {
        let bench = WorkBench { _ in .status(500) }
        _ = await attempt(bench, [Self.failed])

        _ = await attempt(
            bench, [Self.failed], Self.ntfy.merging(["notify.0.name": "phone"]) { $1 })

        #expect(try bench.store().notices.pending(for: "ntfy").isEmpty)
        #expect(try bench.store().notices.pending(for: "phone").count == 1)
    }

    @Test func `a check is pinged at start and end, with what is wrong`() async {
        let bench = WorkBench()
        let options = [
            "notify.0.kind": "healthchecks", "notify.0.secret": "PING",
        ]

        let missing = await attempt(bench, [], options)

        #expect(
            missing.outcome
                == .failure(
                    Failure(
                        .configuration,
                        "target `healthchecks`: there is no variable and no credential `PING` with "
                            + "the secret")))
        #expect(bench.backend.requests.isEmpty)
    }

    @Test func `two targets of one name are refused`() async {
        let two = ["notify.1.kind": "ntfy", "notify.1.url": "https://ntfy.example/u"]

        let end = await attempt(WorkBench(), [], Self.ntfy.merging(two) { $1 })

        #expect(
            end.outcome
                == .failure(
                    Failure(
                        .configuration,
                        "two targets of `notify` are called `ntfy`; give each a `name`")))
    }

    @Test func `a dry run shows what it would tell, and changes nothing`() async throws {
        let bench = WorkBench()
        _ = await attempt(bench, [])
        let before = bench.stateContents()
        let shown = Mutex<[String]>([])

        let options = Notice.options([Self.failed]).merging(Self.ntfy) { $1 }
        let end = await DryRun.run(
            bench.order("notify", options), environment: [:], clock: bench.clock,
            show: { line in shown.withLock { $0.append(line) } })

        #expect(end == .success)
        #expect(
            shown.withLock { $0 } == [
                "ntfy: job `upload` failed\n", "nothing was sent, and nothing was changed",
            ])
        #expect(bench.backend.requests.isEmpty && bench.stateContents() == before)
    }

    /// RFC 4231, test case 2.
    @Test func `a signature is HMAC-SHA256`() throws {
        let code = try MessageSignature.hmacSHA256(
            of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))

        #expect(code == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}

/// True the first time.
private final class Once: Sendable {
    private let wasTaken = Atomic(false)

    func take() -> Bool { !wasTaken.exchange(true, ordering: .relaxed) }
}
