import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@Suite("Reading traces")
struct TraceReaderTests {
    private func read(_ text: String) throws -> ConditionTrace {
        try TraceReader().read(Array(text.utf8), path: "night.ndjson")
    }

    @Test func `a line changes what it names and leaves the rest`() throws {
        let trace = try read(
            """
            # A night at home.
            {"at":"2026-11-20T22:00:00Z","connected":true,"battery":80}

              # Indented, and with the end of a line of another system.\r
            {"at":"2026-11-21T00:30:00+01:00","battery":79,"sources":{"battery":"sensor"}}\r
            \t
            {"at":"2026-11-20T23:45:00Z","connected":null}
            """)

        let conditions = trace.entries.map(\.conditions)
        #expect(
            trace.entries.map(\.at.description) == [
                "2026-11-20T22:00:00Z", "2026-11-20T23:30:00Z", "2026-11-20T23:45:00Z",
            ])
        #expect(conditions.map(\.connected.value) == [true, true, nil])
        #expect(conditions[0].connected.source == "night.ndjson:2")
        #expect(conditions[2].connected.source == "night.ndjson:7")
        #expect(
            conditions.map(\.battery.value) == [
                .charge(percent: 80), .charge(percent: 79), .charge(percent: 79),
            ])
        #expect(conditions[2].battery.source == "sensor")
        #expect(conditions[2].idle == .unknown("not in night.ndjson"))
    }

    @Test func `a line may suppose how attempts go from then on`() throws {
        let trace = try read(
            """
            {"at":"2026-11-20T22:00:00Z","connected":true}
            {"at":"2026-11-20T23:00:00Z","attempts":{"*":"retry","a":"fail"}}
            {"at":"2026-11-21T00:00:00Z","attempts":\
            {"a":{"end":"ok","duration":"2m","events":["upload-completed"]}}}
            {"at":"2026-11-21T01:00:00Z","idle":true,"attempts":{"*":"ok","a":null}}
            """)
        let (a, b) = (try #require(JobID("a")), try #require(JobID("b")))
        let instants = trace.entries.map(\.at)

        #expect(
            instants.map { trace.attempt(of: a, at: $0) } == [
                SimulatedAttempt(), SimulatedAttempt(.fail),
                SimulatedAttempt(
                    duration: .seconds(120), events: [EventName("upload-completed")]),
                SimulatedAttempt(),
            ])
        #expect(
            instants.map { trace.attempt(of: b, at: $0 + .seconds(1)).end }
                == [.ok, .retry, .retry, .ok])
        #expect(trace.supposedJobs == [a])
        #expect(trace.entries.last?.conditions.connected.value == true)
    }

    @Test(arguments: [
        ("", "night.ndjson: no line holds conditions"),
        ("# nothing\n\n", "night.ndjson: no line holds conditions"),
        ("[]", "night.ndjson:1: got `[]`, wanted an object"),
        ("\n{\"at\" 1}", "night.ndjson:2:7: not JSON: `:` should stand here"),
        ("{\"idle\":true}", "night.ndjson:1: `at` is missing"),
        (
            #"{"at":"2026-11-20T06:00:00Z","at":"2026-11-20T06:00:00Z"}"#,
            "night.ndjson:1: `at` stands twice"
        ),
        (
            #"{"at":"yesterday"}"#,
            "night.ndjson:1: `at` is `\"yesterday\"`, wanted a time such as "
                + "\"2026-11-20T06:00:00Z\""
        ),
        (
            #"{"at":17}"#,
            "night.ndjson:1: `at` is `17`, wanted a time such as \"2026-11-20T06:00:00Z\""
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","idel":true}"#,
            "night.ndjson:1: unknown name `idel`; did you mean `idle`?"
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":"retry"}"#,
            "night.ndjson:1: `attempts` is `\"retry\"`, wanted an object"
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":{"a b":"retry"}}"#,
            "night.ndjson:1: `attempts` is `a b`, wanted a job's id or `*`"
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":{"a":"retry","a":"ok"}}"#,
            "night.ndjson:1: `attempts.a` stands twice"
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":{"*":"down"}}"#,
            "night.ndjson:1: `attempts.*` is `\"down\"`, wanted \"ok\", \"retry\", \"fail\", "
                + "\"login\", \"source\", \"stall\""
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":{"a":{"ends":"ok"}}}"#,
            "night.ndjson:1: unknown name `ends`; did you mean `end`?"
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":{"a":{"duration":"90"}}}"#,
            "night.ndjson:1: `attempts.a.duration` is `\"90\"`, wanted a span such as \"30s\""
        ),
        (
            #"{"at":"2026-11-20T06:00:00Z","attempts":{"a":{"events":["Big"]}}}"#,
            "night.ndjson:1: `attempts.a.events[0]` is `\"Big\"`, wanted an event's name"
        ),
        (
            "{\"at\":\"2026-11-20T06:00:00Z\"}\n#\n{\"at\":\"2026-11-20T06:00:00Z\"}",
            "night.ndjson:3: `at` is 2026-11-20T06:00:00Z, wanted later than "
                + "2026-11-20T06:00:00Z of line 1"
        ),
    ])
    func `a fault is said with its line, what stands there and what was wanted`(
        text: String, message: String
    ) {
        let fault = #expect(throws: TraceFault.self) { try read(text) }

        #expect(fault?.description == message)
        #expect(fault?.isUnreadable == false)
    }

    @Test func `a trace has at most a million lines`() {
        let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: TraceReader.mostLines + 1)

        let fault = #expect(throws: TraceFault.self) {
            try TraceReader().read(lines, path: "long")
        }

        #expect(fault?.description == "long: more than 1000000 lines")
    }

    @Test func `a file is read, and one that cannot be is said`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "a.ndjson", Array(#"{"at":"2026-11-20T12:00:00Z","idle":true}"#.utf8))

        let trace = try TraceReader().read(fileAt: file)
        let missing = #expect(throws: TraceFault.self) {
            try TraceReader().read(fileAt: "\(folder.path)/b.ndjson")
        }
        let noFile = #expect(throws: TraceFault.self) {
            try TraceReader().read(fileAt: folder.path)
        }

        #expect(trace.entries.map(\.at) == [.noon])
        #expect(
            missing?.description
                == "\(folder.path)/b.ndjson: cannot read it: no such file or directory")
        #expect(missing?.isUnreadable == true)
        #expect(noFile?.description == "\(folder.path): cannot read it: is a directory")
    }

    @Test func `a file of more than 64 MiB is refused`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("big", [])
        // A sparse file takes no space.
        #expect(truncate(file, off_t(TraceReader.largestFileBytes) + 1) == 0)

        let fault = #expect(throws: TraceFault.self) { try TraceReader().read(fileAt: file) }

        #expect(fault?.description == "\(file): more than 67108864 bytes")
    }
}
