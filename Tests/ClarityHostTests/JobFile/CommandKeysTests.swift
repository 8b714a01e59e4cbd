import ClarityHost
import ClarityScheduler
import Testing

@Suite("A command job in a job file") struct CommandKeysTests {
    private let reader = JobFileReader(
        catalogue: JobCatalogue(kinds: [.command], sections: []), zones: SampleZones(),
        home: "/home/ada", workingDirectory: "/srv/clarity", localZone: "UTC", host: "ada")

    private func read(_ options: String) throws -> JobFile {
        let text = "version: 1\njobs:\n  - { id: a, kind: command, options: { \(options) } }\n"
        return try reader.read(Array(text.utf8), path: "jobs.yaml")
    }

    @Test func `words, folder, variables and the limit are handed on`() throws {
        let options = try #require(
            try read(
                "command: [./say, -v, -v, \"a b\"], folder: ~/work, environment: [A=1, B_2=x=y], "
                    + "output_limit: 2KiB"
            ).jobs.first?.options)

        #expect(options["command"] == "/srv/clarity/say\u{0}-v\u{0}-v\u{0}a b")
        #expect(options["folder"] == "/home/ada/work")
        #expect(options["environment"] == "A=1\u{0}B_2=x=y")
        #expect(options["output_limit"] == "2048")
    }

    @Test func `variables may be a mapping, and a word may begin in the home folder`() throws {
        let options = try #require(
            try read("command: [ls, ~/photos, a~/b], environment: { A: 1, B_2: \"x=y\" }")
                .jobs.first?.options)

        #expect(options["command"] == "ls\u{0}/home/ada/photos\u{0}a~/b")
        #expect(options["environment"] == "A=1\u{0}B_2=x=y")
    }

    @Test func `keys that are left out have their defaults`() throws {
        let options = try #require(try read("command: [\"true\"]").jobs.first?.options)

        #expect(
            options == [
                "command": "true", "folder": "/", "umask": "077", "output_limit": "65536",
            ])
    }

    @Test(arguments: [
        (
            "folder: /",
            "jobs.yaml:3:38: `options` of job `a` has no `command`"
        ),
        (
            "command: [$HOME/bin/x]",
            "jobs.yaml:3:50: the program `$HOME/bin/x` of `command` of `options` of job `a` begins "
                + "with `$`\nhelp: variables are not replaced; write `~/bin/x`"
        ),
        (
            "command: ['${TOOLS}/x']",
            "jobs.yaml:3:50: the program `${TOOLS}/x` of `command` of `options` of job `a` begins "
                + "with `$`\nhelp: variables are not replaced; write the program's absolute path"
        ),
        (
            "command: [a], params: { TAG: nightly }",
            "jobs.yaml:3:69: `TAG` of `params` of `options` of job `a` is text, wanted a mapping\n"
                + "help: write it as `TAG: { default: nightly }`"
        ),
        ("command: []", "jobs.yaml:3:49: `command` of `options` of job `a` names no program"),
        (
            "command: [a, \"b\\0c\"]",
            "jobs.yaml:3:53: the escape `\\0` is not allowed in a job file"
        ),
        (
            "command: [a], environment: [A]",
            "jobs.yaml:3:68: entry 1 of `environment` of `options` of job `a` is not a variable\n"
                + "help: write it as `LANG=C`, the name in letters, digits and `_`"
        ),
        (
            "command: [a], environment: [2A=x]",
            "jobs.yaml:3:68: entry 1 of `environment` of `options` of job `a` is not a variable\n"
                + "help: write it as `LANG=C`, the name in letters, digits and `_`"
        ),
        (
            "command: [a], environment: [A=1, A=2]",
            "jobs.yaml:3:73: `environment` of `options` of job `a` has `A` twice"
        ),
        (
            "command: [a], environment: [CLARITY_JOB=b]",
            "jobs.yaml:3:68: entry 1 of `environment` of `options` of job `a` begins with "
                + "`CLARITY_`\nhelp: those variables are this program's own"
        ),
        (
            "command: [a], params: { 2A: }",
            "jobs.yaml:3:64: `2A` in `params` of `options` of job `a` is no name of a variable\n"
                + "help: write it in letters, digits and `_`; `CLARITY_` is this program's own"
        ),
        (
            "command: [a], params: { A: { pattern: \"[a\" } }",
            "jobs.yaml:3:78: the pattern of `A` of `params` of `options` of job `a` is no regular "
                + "expression: unmatched [, [^, [:, [., or [="
        ),
        (
            "command: [a], params: { A: { default: a1, pattern: \"[a-z]+\" } }",
            "jobs.yaml:3:78: the default of `A` of `params` of `options` of job `a` does not match "
                + "its pattern `[a-z]+`"
        ),
        (
            "command: [a], params: { A: { default: \"a\\nb\" } }",
            "jobs.yaml:3:78: the default of `A` of `params` of `options` of job `a` is not one line "
                + "of at most 4096 bytes"
        ),
        (
            "command: [a], params: { A: } }, schedule: { every: 1h",
            "jobs.yaml:3:5: job `a` starts by itself, and its parameter `A` has no `default`\n"
                + "help: give it one, or leave the starts to `run --set A=VALUE`"
        ),
        (
            "command: [a], output_limit: 17MiB",
            "jobs.yaml:3:68: output_limit `17MiB` is out of range, wanted 1KiB to 16MiB"
        ),
    ])
    func `a fault is named at its place`(options: String, message: String) throws {
        let faults = #expect(throws: JobFileFaults.self) { try read(options) }

        #expect(faults?.description == message)
    }
}
