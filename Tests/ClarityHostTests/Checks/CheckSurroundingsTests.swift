import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Tests the environment in which a check's command starts, and that it leaves nothing behind.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CheckSurroundingsTests {
    private func notes(_ script: String) async throws -> [String] {
        let bench = try CheckBench()
        let answer = try await bench.answer(
            bench.script("c", "note() { echo \"$*\" >> $F/notes; }\n" + script))
        #expect(answer?.value == true)
        return try bench.text("notes").split(separator: "\n").map(String.init)
    }

    @Test func `a command finds the three standard descriptors on nothing and no other`()
        async throws
    {
        // Inheritable, as a careless library would open it.
        let stray = Descriptor(owning: open("/dev/zero", O_RDONLY))

        let notes = try await notes(
            """
            open=""
            n=0
            while [ $n -lt 100 ]; do
                [ -e /proc/$$/fd/$n ] && open="$open $n"
                n=$((n + 1))
            done
            note open$open
            for n in 0 1 2; do note $(readlink /proc/$$/fd/$n); done
            """)

        #expect(stray.number > 2)
        #expect(notes == ["open 0 1 2", "/dev/null", "/dev/null", "/dev/null"])
    }

    @Test func `a command leads its own group in the root folder, open to every signal`()
        async throws
    {
        let notes = try await notes(
            """
            while read -r name value; do
                case $name in SigBlk:|SigIgn:) note "$name $value" ;; esac
            done < /proc/$$/status
            read -r pid name state parent group rest < /proc/$$/stat
            note $((group - pid)) $(pwd)
            note $(tr '\\0' ' ' < /proc/$$/environ)
            exit 0
            """)

        // Signals 32 and 33 belong to Glibc; `posix_spawn` makes every child ignore them.
        #expect(
            notes == [
                "SigBlk: 0000000000000000", "SigIgn: 0000000180000000", "0 /", "PATH=/usr/bin:/bin",
            ])
    }

    @Test func `arguments reach a program unchanged`() async throws {
        let bench = try CheckBench()
        let words = ["a b", "", "$HOME", "*", "'\"\n", "é"]
        let text = "for word; do printf '<%s>' \"$word\"; done > \(bench.folder.path)/words"
        let check = CheckDeclaration(
            name: "c", question: .command(["sh", "-c", text, "sh"] + words))

        _ = try await bench.answer(check)

        #expect(try bench.text("words") == words.map { "<\($0)>" }.joined())
    }

    @Test func `fifty checks leave no descriptor open`() async throws {
        await #expect(processExitsWith: .success) {
            let bench = try CheckBench()
            let runner = bench.runner(
                bench.script("a", "exit 0"), bench.script("b", "sleep 1000 & exit 1"),
                CheckDeclaration(name: "c", question: .command(["\(bench.folder.path)/none"])))
            _ = try await blocking { runner.settle(["a", "b", "c"]) }
            let before = try await ProcessSurroundingsTests.openDescriptors()

            for _ in 0..<50 {
                _ = try await blocking { runner.settle(["a", "b", "c"]) }
            }

            let after = try await ProcessSurroundingsTests.openDescriptors()
            #expect(after == before)
        }
    }
}
