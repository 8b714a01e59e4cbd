import ClarityTestSupport
import Glibc
import Testing

@Suite("A second signal", .timeLimit(.minutes(5)))
struct SecondSignalTests {
    @Test(arguments: ["loop", "run hostile"])
    func `a second signal ends the program at once, and its run is taken over`(command: String)
        async throws
    {
        let worker = try await HostileWorker(
            """
            if [ -e "$FOLDER/again" ]; then report outcome success; exit 0; fi
            trap 'echo warned >"$FOLDER/word"' TERM
            # Once the shell reads: a signal just before a read(2) would not interrupt it.
            (sleep 0.2; echo ready >"$FOLDER/word") 3<&- 4>&- &
            while :; do wait_for_end; read -r line <&3 || exit 0; done
            """, settings: ", warning: 50s")
        let word = "\(worker.folder.path)/word"
        try #require(mkfifo(word, 0o600) == 0)

        let program = try worker.start(command)
        let ready = try await blocking { try TemporaryFolder.read(word) }
        program.signal(SIGINT)
        let warned = try await blocking { try TemporaryFolder.read(word) }
        program.signal(SIGTERM)
        let end = await program.finish()
        try worker.folder.write("again", [])
        let next = try await worker.run("run hostile")

        #expect(ready == Array("ready\n".utf8) && warned == Array("warned\n".utf8))
        // A drain by the first signal would have ended later and with status 130.
        #expect(end.status == 143, "\(end.output)")
        #expect(next.status == 0, "\(next.output)")
    }
}
