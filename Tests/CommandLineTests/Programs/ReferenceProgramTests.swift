import ClarityTestSupport
@testable import ProgramTestSupport
import Foundation
import Testing

@testable import clarity_jobs

@Suite("completion, manual and schema", .timeLimit(.minutes(5)))
struct ReferenceProgramTests {
    /// A shell, how it starts without the user's settings, and how it loads a script.
    struct Shell: Sendable, CustomTestStringConvertible {
        var name: String
        var start: [String]
        var load: @Sendable (_ script: String) -> String

        var testDescription: String { name }
        var path: String { "/usr/bin/\(name)" }
        var isHere: Bool { access(path, X_OK) == 0 }
    }

    static let shells = [
        Shell(name: "bash", start: ["--norc", "--noprofile", "-i"]) { "source \($0)" },
        Shell(name: "zsh", start: ["-f", "-i"]) {
            "autoload -Uz compinit; compinit -D; source \($0)"
        },
        Shell(name: "fish", start: ["--no-config", "-i"]) { "source \($0)" },
    ]

    @Test(arguments: shells.filter(\.isHere))
    func `the Tab key completes jobs in a shell`(shell: Shell) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let script = "\(playground.folder.path)/completion"
        let text = try await playground.run("completion", shell.name)
        try Data(text.output.utf8).write(to: URL(filePath: script))
        var environment = playground.terminalEnvironment
        environment["PATH"] = "\(ChildProgram.folder):/usr/bin:/bin"
        environment["TERM"] = "dumb"
        let terminal = try TerminalProgram(shell.path, shell.start, environment: environment)

        terminal.type("\(shell.load(script)); echo 'is' 'ready'\n")
        _ = await terminal.read(until: "is ready")
        // Without the completion the command fails: there is no job `uplo`.
        terminal.type("clarity-jobs next -n 1 uplo\t\nexit\n")
        let end = await terminal.finish()

        #expect(end.screen.contains("JOB ") && !end.screen.contains("no job"), "\(end.screen)")
    }

    @Test func `jobs and runs are completed from job file and history`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        _ = try await playground.run("run", "refresh", "--force")

        let jobs = try await playground.run("completion", "words", "run", "re")
        let runs = try await playground.run("completion", "words", "history", "show", "")
        let broken = try await playground.run(
            "completion", "words", "-c", "/dev/null/none", "run", "")

        #expect(jobs.output == "refresh\trefresh\n" && jobs.status == 0)
        #expect(runs.outputLines.contains("1\trefresh, succeeded") && runs.status == 0)
        #expect(broken.output == "" && broken.errors == "" && broken.status == 0)
    }

    @Test(.enabled(if: access("/usr/bin/man", X_OK) == 0))
    func `man shows every page without a warning`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await playground.run("manual").output.split(separator: "\n")
        #expect(pages.count > 30 && pages.contains("clarity-jobs.yaml.5"))

        for page in pages {
            let text = try await playground.run("manual", String(page)).output
            let file = "\(playground.folder.path)/\(page)"
            try Data(text.utf8).write(to: URL(filePath: file))
            let man = try ChildProgram(
                "/usr/bin/man", ["--warnings", "-E", "UTF-8", "-l", file],
                environment: ["PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"])
            let shown = await man.finish()
            #expect(shown.status == 0 && shown.errors == "", "\(page): \(shown.errors)")
            #expect(shown.output.contains("NAME"), "\(page)")
        }
    }

    @Test(arguments: [
        (["completion"], "`completion` wants a shell: bash, zsh, fish"),
        (["completion", "csh"], "`completion` wants a shell: bash, zsh, fish"),
        (
            ["manual", "clarity-jobs-rum"],
            "the manual has no page `clarity-jobs-rum`; did you mean `clarity-jobs-run.1`?"
        ),
    ])
    func `what is not there is refused in one line`(
        words: [String], message: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
    }

    /// Whether Debian's packages of the validator and of a reader of YAML 1.2 are installed.
    private static let hasValidator = ["jsonschema", "ruamel"].allSatisfy {
        access("/usr/lib/python3/dist-packages/\($0)", F_OK) == 0
    }

    /// Returns the validator's answers for job files: `valid`, or where the first mistake is.
    private func validate(_ files: [String], in playground: Playground) async throws -> [String] {
        let schema = "\(playground.folder.path)/schema.json"
        try Data(try await playground.run("schema").output.utf8).write(to: URL(filePath: schema))
        // YAML's own type of a time is none of JSON: the loader leaves it a text.
        let script = """
            import json, sys
            import jsonschema
            from ruamel.yaml import YAML
            yaml = YAML(typ='safe', pure=True)
            yaml.constructor.add_constructor(
                'tag:yaml.org,2002:timestamp', lambda loader, node: node.value)
            schema = json.load(open(sys.argv[1]))
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            for path in sys.argv[2:]:
                faults = list(validator.iter_errors(yaml.load(open(path))))
                print('valid' if not faults else faults[0].json_path)
            """
        let python = try ChildProgram(
            "/usr/bin/python3", ["-c", script, schema] + files,
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        let result = await python.finish()
        #expect(result.errors == "")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test(.enabled(if: hasValidator))
    func `every job file of the repository fits the schema`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        var files: [String] = [playground.jobFilePath]
        for folder in ["", "Examples", "deploy", "docs"] {
            let folder = root.appending(path: folder).path
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            files += names.filter { $0.hasSuffix(".yaml") && !$0.hasPrefix("compose") }
                .map { "\(folder)/\($0)" }
        }

        let answers = try await validate(files, in: playground)

        #expect(files.count > 1)
        #expect(answers == files.map { _ in "valid" }, "\(files)")
    }

    @Test(
        .enabled(if: hasValidator),
        arguments: [
            ("jobs: [{ id: a, kind: refresh, shedule: {} }]", "$.jobs[0]"),
            ("jobs: [{ id: a, kind: refresh, timeout: 5 }]", "$.jobs[0].timeout"),
            ("jobs: [{ id: a, kind: refresh, timeout: 5 min }]", "$.jobs[0].timeout"),
            ("jobs: [{ id: a, kind: cleenup }]", "$.jobs[0].kind"),
            ("jobs: [{ id: a, kind: command }]", "$.jobs[0]"),
            (
                "jobs: [{ id: a, kind: cleanup, options: { command: [\"true\"] } }]",
                "$.jobs[0].options"
            ),
            ("jobs: [{ id: a, kind: command, options: { command: [\"true\"] } }]", "valid"),
            ("jobs: []\ndefaults: { max_parallel: 65 }", "$.defaults.max_parallel"),
            ("jobs: []\nsources: [{ kind: spool }]", "$.sources[0]"),
            ("jobs: []\nsources: [{ kind: spool, path: a }]", "valid"),
            ("jobs: []\nchecks: { c: { command: [sleep, 5] } }", "valid"),
        ])
    func `the schema marks a mistake where it is`(text: String, answer: String) async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            "version: 1\nbackend: { url: https://a.example }\n\(text)\n"
        }

        #expect(try await validate([playground.jobFilePath], in: playground) == [answer])
    }
}
