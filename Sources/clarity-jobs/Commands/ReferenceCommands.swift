import ClarityHost
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import JSON

/// `completion`, `manual` and `schema`: print what is generated from the declarations of commands
/// and keys.
struct ReferenceCommands: ComposedCommand {
    let composition: Composition

    private var operands: [String] { composition.arguments.operands }

    /// `completion SHELL`: prints the script for a shell.
    func completion() throws(CommandFailure) -> ExitStatus {
        let shells = CompletionScript.allCases.map(\.rawValue)
        guard operands.count == 1, let script = CompletionScript(rawValue: operands[0]) else {
            throw CommandFailure(
                .usage, "`completion` wants a shell: \(shells.joined(separator: ", "))")
        }
        composition.console.text(script.text)
        return .done
    }

    /// `completion words WORD...`: prints what the last word may be, a line each.
    func completionWords() -> ExitStatus {
        let completion = Completion(operands, of: .program)
        var arguments = completion.arguments
        // The variables of options count for the line that is completed too.
        arguments.values.merge(composition.arguments.values) { typed, _ in typed }
        let machine = MachineCandidates(
            composition.with(arguments: arguments), prefix: operands.last ?? "")
        let found =
            completion.expectation.candidates
            + completion.expectation.values.flatMap(machine.candidates)
        for candidate in found {
            composition.console.result(
                "\(candidate.word.printable)\t\(candidate.summary.printable)")
        }
        return .done
    }

    /// `manual [PAGE]`: lists the pages, or prints one.
    func manual() throws(CommandFailure) -> ExitStatus {
        let pages = Manual(
            root: .program, reference: JobFileReference(Composition.catalogue)
        ).pages
        guard let name = operands.first else {
            pages.forEach { composition.console.result($0.fileName) }
            return .done
        }
        guard operands.count == 1,
            let page = pages.first(where: { [$0.name, $0.fileName].contains(name) })
        else {
            let suggestion = didYouMean(name, among: pages.map(\.fileName))
            throw CommandFailure(.usage, "the manual has no page `\(name)`\(suggestion)")
        }
        composition.console.text(page.text)
        return .done
    }

    /// `--version`: prints the version, the commit of a release, and the libraries of each program.
    func version() throws(CommandFailure) -> ExitStatus {
        let zstandard = LibraryVersion(name: "Zstandard", version: Archive.zstandardVersion)
        let own = LibraryVersion.loaded() + [zstandard]
        var programs = [("clarity-jobs", own)]
        for name in ["clarity-jobs-worker", "clarity-jobs-web"] {
            if let path = composition.companionIfThere(name) {
                programs.append((name, try libraries(of: path)))
            }
        }
        composition.console.results(
            ["clarity-jobs \(programVersion)" + (programCommit.map { " (\($0.prefix(12)))" } ?? "")]
                + programs.map { name, libraries in
                    let texts = libraries.map { "\($0.name) \($0.version)" }
                    return "\(name): \(texts.joined(separator: ", "))"
                },
            [
                "version": .string(programVersion), "commit": .text(programCommit),
                "results_version": .count(ResultSchema.version),
                "programs": .array(
                    programs.map { name, libraries in
                        [
                            "program": .string(name),
                            "libraries": .array(
                                libraries.map {
                                    ["name": .string($0.name), "version": .string($0.version)]
                                }),
                        ]
                    }),
            ])
        return .done
    }

    private func libraries(of program: String) throws(CommandFailure) -> [LibraryVersion] {
        try ForegroundProgram.captured([program, "version"]).output.split(separator: "\n")
            .compactMap {
                let words = $0.split(separator: " ", maxSplits: 1)
                guard words.count == 2 else { return nil }
                return LibraryVersion(name: String(words[0]), version: String(words[1]).printable)
            }
    }

    /// `schema` and `schema job-file`: print the JSON Schema of job files.
    func jobFileSchema() -> ExitStatus {
        composition.console.result(JobFileSchema(Composition.catalogue).document.page)
        return .done
    }

    /// `schema results`: prints the JSON Schema of the results of commands.
    func resultSchema() -> ExitStatus {
        composition.console.result(ResultSchema().document.page)
        return .done
    }

    /// `schema api`: prints the OpenAPI description of the web pages' API.
    func apiDescription() -> ExitStatus {
        composition.console.result(APIDescription().document.page)
        return .done
    }
}

/// What the values of options and operands may be on this machine.
private struct MachineCandidates {
    private let composition: Composition
    private let prefix: String

    init(_ composition: Composition, prefix: String) {
        self.composition = composition
        self.prefix = prefix
    }

    /// Returns the candidates for a value with a name, such as `JOB`; none if they cannot be read:
    /// whoever presses the Tab key is not to be told why.
    func candidates(for value: String) -> [Completion.Candidate] {
        let all: [Completion.Candidate]
        do throws(CommandFailure) {
            all =
                switch value {
                case "JOB": try jobs()
                case "RUN": try runs()
                case "TYPE": words(MetricSelection.names)
                case "KIND": words(SampleKind.allCases.map(\.rawValue))
                case "PAGE":
                    words(
                        Manual(root: .program, reference: JobFileReference(Composition.catalogue))
                            .pages.map(\.fileName))
                case "SHELL": words(CompletionScript.allCases.map(\.rawValue))
                case "FILE": words([":file"])
                case "DIR": words([":folder"])
                default: []
                }
        } catch {
            return []
        }
        return all.filter { $0.word.hasPrefix(prefix) || $0.word.hasPrefix(":") }
    }

    private func words(_ names: [String]) -> [Completion.Candidate] {
        names.map { .init(word: $0) }
    }

    private func jobs() throws(CommandFailure) -> [Completion.Candidate] {
        try composition.jobFile().jobs.map {
            .init(word: $0.id.rawValue, summary: $0.kind.rawValue)
        }
    }

    private func runs() throws(CommandFailure) -> [Completion.Candidate] {
        let history = try composition.history(try composition.jobFile())
        return try askingStore { () throws(RunStoreError) in
            try history.runs(RunFilter(account: composition.namedAccount), limit: 50)
        }.map { .init(word: "\($0.id)", summary: "\($0.job), \($0.state.rawValue)") }
    }
}
