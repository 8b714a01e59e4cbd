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
        // A file of nothing but holes takes no space.
        #expect(truncate(file, off_t(TraceReader.largestFileBytes) + 1) == 0)

        let fault = #expect(throws: TraceFault.self) { try TraceReader().read(fileAt: file) }

        #expect(fault?.description == "\(file): more than 67108864 bytes")
    }
}
