import HealthStore
import ClarityScheduler
import Platform
import ClarityTestSupport
import Foundation
import Glibc
@testable import ProgramTestSupport
import Database
import Testing

@testable import clarity_jobs

/// Every command's JSON, of the real programs, against the schema that `schema results` prints.
@Suite("Results as JSON", .timeLimit(.minutes(5)))
struct ResultProgramTests {
    /// Whether Debian's package of the validator is installed.
    private static let hasValidator =
        access("/usr/lib/python3/dist-packages/jsonschema", F_OK) == 0

    /// An output of a command, and the entry of the schema's `$defs` that describes it.
    private struct Output {
        var entry: String
        var text: String
    }

    /// Runs a command once with each form of JSON, and adds both outputs.
    ///
    /// - Parameter before: done before each of the two.
    private func add(
        _ command: String, _ words: [String] = [], to outputs: inout [Output],
        _ playground: Playground, input: String = "", statuses: Set<Int32> = [0],
        before: () async throws -> Void = {}
    ) async throws {
        let path = command.split(separator: " ").map(String.init)
        let key = path.joined(separator: "-")
        for (form, entry) in [("json", key), ("ndjson", "\(key).line")] {
            try await before()
            let result = try await playground.start(path + words + ["-o", form]).finish(
                input: input)
            #expect(statuses.contains(result.status), "\(command) \(words): \(result.errors)")
            outputs.append(Output(entry: entry, text: result.output))
        }
    }

    /// Returns the faults of outputs by the strict schema, which allows declared fields only.
    ///
    /// A document of `json` has to be one JSON text, and one of `ndjson` one object a line.
    private func faults(
        of outputs: [Output], in playground: Playground
    ) async throws -> [String] {
        var files: [String] = []
        for (number, output) in outputs.enumerated() {
            try playground.folder.write("output-\(number)", Array(output.text.utf8))
            files += [output.entry, "\(playground.folder.path)/output-\(number)"]
        }
        let schema = try await playground.run("schema", "results")
        try playground.folder.write("results.schema.json", Array(schema.output.utf8))
        let script = """
            import json, sys
            import jsonschema
            schema = json.load(open(sys.argv[1]))
            jsonschema.Draft202012Validator.check_schema(schema)
            # The backend decides which other fields a profile has.
            own = ('profile', 'profile.line')
            def close(part):
                if isinstance(part, list):
                    for element in part:
                        close(element)
                elif isinstance(part, dict):
                    if part.get('type') == 'object' and 'properties' in part:
                        part['additionalProperties'] = False
                        for value in part['properties'].values():
                            close(value)
                    else:
                        for value in part.values():
                            close(value)
            for name, part in schema['$defs'].items():
                if name not in own:
                    close(part)
            def faults(entry, path):
                text = open(path).read()
                if entry.endswith('.line'):
                    documents = [json.loads(line) for line in text.splitlines()]
                    if not all(isinstance(document, dict) for document in documents):
                        return ['a line is no object']
                else:
                    documents = [json.loads(text)]
                rules = {'$ref': '#/$defs/' + entry, '$defs': schema['$defs']}
                validator = jsonschema.Draft202012Validator(rules)
                return [
                    '%s: %s' % (fault.json_path, [fault.message] + [
                        inner.message for inner in fault.context or []])
                    for document in documents for fault in validator.iter_errors(document)]
            for entry, path in zip(sys.argv[2::2], sys.argv[3::2]):
                try:
                    for fault in faults(entry, path):
                        print(entry, fault)
                except json.JSONDecodeError as fault:
                    print(entry, 'is no JSON:', fault)
            """
        let python = try ChildProgram(
            "/usr/bin/python3",
            ["-c", script, "\(playground.folder.path)/results.schema.json"] + files,
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        let result = await python.finish()
        #expect(result.errors == "" && result.status == 0)
        return result.output.split(separator: "\n").map(String.init)
    }

    private func jobFile(url: String, folder: String) -> String {
        Playground.standardJobFile(url: url, folder: folder)
            + """
              - { id: analysis, kind: pat-analysis }
              - id: waits
                kind: command
                constraints: { storage_free: 900TiB }
                options: { command: ["true"] }
              - id: fails
                kind: command
                retry: { attempts: 1 }
                options: { command: [sh, -c, "echo an output; false"] }
            notify:
              - { kind: command, command: [sh, -c, "cat"] }
            fresh: { heart_rate: 1h, sleep: 1h }

            """
    }

    @Test(.enabled(if: hasValidator))
    func `every command's JSON fits the strict schema`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "blueprint", "--processing-steps", "1"],
            jobFile: jobFile)
        let sandbox = try #require(playground.sandbox)
        let export = "\(playground.folder.path)/export.xml"
        var outputs: [Output] = []

        // The login and the sources.
        try await add(
            "auth login", ["--email", "demo@example.com", "--password-stdin"], to: &outputs,
            playground, input: "Demo-Passw0rd!\n")
        var number = 0
        for form in ["json", "ndjson"] {
            number += 1
            let result = try await playground.run(
                "auth", "register", "--email", "new\(number)@example.com", "--first-name", "New",
                "--last-name", "Person", "--accept-terms", "--password-stdin", "-o", form,
                input: "Invented-Passw0rd!\n")
            outputs.append(
                Output(
                    entry: form == "json" ? "auth-register" : "auth-register.line",
                    text: result.output))
        }
        try await add("auth status", to: &outputs, playground)
        try playground.writeExport(heartRates: 10)
        try await add("sources", to: &outputs, playground)
        try await add("import", [export, "--report"], to: &outputs, playground)
        try await add("import", [export], to: &outputs, playground)
        var exports = 0
        for format in ["json", "ndjson"] {
            exports += 1
            let result = try await playground.start(
                ["export-data", "-o", format, "--out", "\(playground.folder.path)/out-\(exports)"]
            ).finish()
            outputs.append(
                Output(
                    entry: format == "json" ? "export-data" : "export-data.line",
                    text: result.output)
            )
        }
        try await add("sources", to: &outputs, playground)
        for format in ["json", "ndjson"] {
            let result = try await playground.run(
                "report", "-o", format, "--out", "\(playground.folder.path)/report-\(format)",
                "--month", String(Date.now.ISO8601Format().prefix(7)))
            outputs.append(
                Output(entry: format == "json" ? "report" : "report.line", text: result.output))
        }

        // Runs.
        for job in ["upload", "waits", "notify", "cleanup"] {
            try await add("dry-run", [job], to: &outputs, playground)
        }
        try await add("run", ["upload", "refresh", "insights"], to: &outputs, playground)
        try await add("run", ["fails"], to: &outputs, playground, statuses: [1])
        try await add("run", ["waits"], to: &outputs, playground, statuses: [75])
        _ = try await playground.run("run", "--due")
        try await add(
            "pause", ["cleanup", "--for", "7d", "--reason", "abroad"], to: &outputs, playground)
        for job in ["cleanup", "waits", "upload"] {
            try await add("explain", [job], to: &outputs, playground)
        }
        try await add(
            "explain",
            [
                "upload", "--at",
                "\(Date.now.ISO8601Format(.init(includingFractionalSeconds: true)))",
            ], to: &outputs, playground)
        try await add("list", to: &outputs, playground)
        try await add("next", ["-n", "5"], to: &outputs, playground)
        try await add("next", ["--around-dst", "--now", "2026-10-24"], to: &outputs, playground)
        try await add("status", to: &outputs, playground, statuses: [0, 1])
        try await add("status", ["-q"], to: &outputs, playground, statuses: [0, 1])
        try await add("status", ["--all"], to: &outputs, playground, statuses: [0, 1])
        try await add("history", ["-n", "100"], to: &outputs, playground)
        try await add(
            "history missed",
            ["--now", "\(Date.now.addingTimeInterval(172_800).ISO8601Format())"], to: &outputs,
            playground)
        try await add("tonight", to: &outputs, playground)
        try await add("history waits", to: &outputs, playground)
        let runs = try await playground.json("history", "-n", "100").elements
        #expect(
            Set(runs.compactMap { $0["state"].text }).isSuperset(of: [
                "succeeded", "failed", "enqueued",
            ]))
        for run in runs {
            let number = try #require(run["run"].number)
            try await add("history show", ["\(number)"], to: &outputs, playground)
            try await add("logs", ["\(number)"], to: &outputs, playground)
        }
        try await add("resume", ["cleanup"], to: &outputs, playground)
        try await add("simulate", ["--days", "1"], to: &outputs, playground)
        try await add(
            "backfill", ["cleanup", "--from", "2026-11-20T00:00:00Z"], to: &outputs, playground)
        try await add("cancel", ["waits"], to: &outputs, playground) {
            _ = try await playground.run("run", "waits")
        }
        try await add("retry", ["fails"], to: &outputs, playground)

        // Checks and notices.
        try await add("validate", to: &outputs, playground)
        try await add("audit", to: &outputs, playground)
        try await add("audit log", to: &outputs, playground)
        try await add("audit log", ["--verify"], to: &outputs, playground)
        try await add("doctor", to: &outputs, playground)
        try await add("doctor", ["--backend"], to: &outputs, playground)
        try await add("notify test", to: &outputs, playground)
        try await add("notices list", to: &outputs, playground)

        // Health data.
        let page = try await LoopbackRequest.send(
            "GET", "/_sandbox/metrics?limit=1", port: try sandbox.port)
        let metric = try #require(try JSONValue(page)["metrics"].elements.first?["metric_id"].text)
        _ = try await LoopbackRequest.send(
            "POST", "/_sandbox/edit-metric", body: metric, port: try sandbox.port)
        _ = try await playground.run("run", "refresh", "--force")
        try await add("summary", ["--now", "2026-10-01"], to: &outputs, playground)
        try await add("metrics", to: &outputs, playground)
        for type in ["heart_rate", "activity"] {
            try await add("metrics", [type, "--since", "2026-01-01"], to: &outputs, playground)
        }
        let times = "startDate=\"2026-10-01 02:00:00 +0000\" endDate=\"2026-10-01 03:00:00 +0000\""
        let spans = """
            <HealthData><Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="Watch" \
            \(times) value="HKCategoryValueSleepAnalysisAsleepCore"/><Workout \
            workoutActivityType="HKWorkoutActivityTypeYoga" sourceName="Watch" \(times)/>\
            <Record type="HKCategoryTypeIdentifierHeadache" sourceName="Health" \(times) \
            value="HKCategoryValueSeverityMild"/><ActivitySummary dateComponents="2026-10-01" \
            activeEnergyBurned="500" activeEnergyBurnedGoal="400"/></HealthData>
            """
        let pushed = """
            {"data":{"ecg":[{"start":"2026-10-01 10:00:00 +0000","end":"2026-10-01 10:00:30 +0000",
            "classification":"Sinus Rhythm","samplingFrequency":1,"voltageMeasurements":[
            {"voltage":1.5,"units":"mV"}]}]}}
            """
        let push = try playground.folder.write("push.json", Array(pushed.utf8))
        _ = try await playground.run("import", push)
        let path = try playground.folder.write("spans.xml", Array(spans.utf8))
        _ = try await playground.run("import", path)
        for span in ["nights", "workouts", "activity"] {
            for period in ["each", "month"] {
                try await add(span, ["--by", period], to: &outputs, playground)
            }
        }
        try await add("trends", to: &outputs, playground)
        try await add("year", ["2026"], to: &outputs, playground)
        try await add("diary", to: &outputs, playground)
        try await add("ecgs", to: &outputs, playground)
        try await add("ecgs", ["2026-10-01T10:00:00Z"], to: &outputs, playground)
        try await add("records", to: &outputs, playground)
        for period in ["raw", "hour", "day", "month"] {
            try await add(
                "records", ["HeartRate", "--by", period, "--since", "2026-01-01"], to: &outputs,
                playground)
        }
        try playground.writeSteps(days: 7)
        for job in ["upload", "analysis"] { _ = try await playground.run("run", job, "--force") }
        try await add("analyses", to: &outputs, playground)
        try await add("analyses", ["1"], to: &outputs, playground)
        try await add("insights", to: &outputs, playground)
        let insight = try #require(try await playground.json("insights").elements.first?["id"].text)
        try await add("insights", [insight], to: &outputs, playground)
        try await add("profile", to: &outputs, playground)
        try await add("archive list", to: &outputs, playground)
        try await add("archive show", ["1"], to: &outputs, playground)

        // The outbox, with one sample set aside.
        try playground.writeExport(heartRates: 20)
        _ = try await playground.run("import", export)
        try changeHealthData(
            of: playground,
            """
            UPDATE outbox SET state = 'setAside', reason = 'it broke'
            WHERE id = (SELECT max(id) FROM outbox)
            """)
        try await add("outbox", to: &outputs, playground, statuses: [0, 1])
        try await add("outbox list", to: &outputs, playground)
        for sample in ["1", "15"] {
            try await add("outbox show", [sample], to: &outputs, playground)
        }
        try await add("outbox retry", ["--all", "--yes"], to: &outputs, playground)
        try await add("outbox discard", ["--all", "--yes"], to: &outputs, playground)
        try await add("outbox erase", ["--all", "--yes"], to: &outputs, playground)

        // A FHIR server.
        let server = try await FHIRScene()
        _ = try await server.send()
        try await add("fhir list", to: &outputs, server.playground)
        try await add("fhir verify", ["clinic"], to: &outputs, server.playground)
        try await add("fhir erase", ["clinic", "--yes"], to: &outputs, server.playground)

        // The tokens of those who push.
        try await add("receive token add", ["phone"], to: &outputs, playground) {
            _ = try await playground.run("receive", "token", "revoke", "phone")
        }
        try await add("serve link", to: &outputs, playground)
        let pages = PageAccess(stateDirectory: playground.statePath)
        let now = Instant(secondsSince1970: Int64(time(nil)))
        _ = try pages.enter(link: try pages.makeLink(at: now), as: "person", at: now)
        try await add(
            "serve token add", ["door", "--may", "run:cleanup"], to: &outputs, playground
        ) {
            _ = try await playground.run("serve", "token", "remove", "door")
        }
        try await add("serve token list", to: &outputs, playground)
        try await add("serve token remove", ["door"], to: &outputs, playground) {
            _ = try await playground.run("serve", "token", "add", "door", "--may", "run:cleanup")
        }
        try await add("serve sessions list", to: &outputs, playground)
        try await add("serve sessions end", ["--all"], to: &outputs, playground)
        try await add("receive token list", to: &outputs, playground)
        try await add("receive token revoke", ["phone"], to: &outputs, playground) {
            _ = try await playground.run("receive", "token", "add", "phone")
        }

        // The key and backups, one of which is damaged.
        try await add("key status", to: &outputs, playground)
        try await add("key rotate", to: &outputs, playground)
        try await add("backup", to: &outputs, playground)
        let backups = try await playground.json("backup", "list").elements
        let last = try #require(backups.first?["path"].text)
        let oldest = try #require(backups.last?["name"].text)
        try playground.folder.write("state/backups/\(oldest)/manifest", [])
        try await add("backup list", to: &outputs, playground)
        try await add("restore", [last, "--dry-run"], to: &outputs, playground)
        try await add("restore", [last], to: &outputs, playground)
        try await add("auth logout", ["--forget-data", "--yes"], to: &outputs, playground) {
            try await playground.logIn()
        }

        try await addMailedCodes(to: &outputs)
        let found = try await faults(of: outputs, in: playground)
        #expect(found == [])
        let filled = Set(outputs.filter { !["", "[]\n"].contains($0.text) }.map(\.entry))
        // The commands for accounts, and for a database, have tests of their own.
        let declared = Set(
            ResultSchema.commands.filter {
                !$0.key.hasPrefix("accounts-") && !$0.key.hasPrefix("store-")
            }
            .flatMap { [$0.key, "\($0.key).line"] })
        // A sound state has no findings; the next test has some.
        #expect(
            declared.subtracting(filled) == ["audit", "audit.line"])
    }

    /// Runs the commands that have codes mailed, or that take them.
    private func addMailedCodes(to outputs: inout [Output]) async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", "loop"])
        let port = try #require(playground.sandbox).port
        for (form, ending) in [("json", ""), ("ndjson", ".line")] {
            let email = "\(form)@example.com"
            func code() async throws -> String {
                let mail = try JSONValue(
                    try await LoopbackRequest.send("GET", "/_sandbox/mail", port: port))["mail"]
                return try #require(mail.elements.first { $0["to"].text == email }?["code"].text)
            }
            func output(
                _ action: String, _ words: [String] = [], input: String = ""
            ) async throws -> Output {
                let result = try await playground.start(
                    ["auth", action, "--email", email, "-o", form] + words
                ).finish(input: input)
                #expect(result.status == 0, "\(result.errors)")
                return Output(entry: "auth-\(action)\(ending)", text: result.output)
            }
            _ = try await playground.run(
                "auth", "register", "--email", email, "--first-name", "New", "--last-name",
                "Person", "--accept-terms", "--password-stdin", input: "Invented-Passw0rd!\n")
            outputs.append(try await output("resend-code"))
            outputs.append(try await output("verify", ["--code", try await code()]))
            outputs.append(try await output("reset-password"))
            outputs.append(
                try await output(
                    "reset-password", ["--code", try await code(), "--password-stdin"],
                    input: "Another-Passw0rd!\n"))
        }
    }

    private func changeHealthData(of playground: Playground, _ sql: String) throws {
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
            sql)
    }

    @Test(.enabled(if: hasValidator))
    func `findings, faults and what a logout keeps fit the strict schema`() async throws {
        let playground = try await Playground()
        var outputs: [Output] = []
        try await add("auth logout", to: &outputs, playground) {
            try await playground.logIn()
        }
        try playground.writeExport(heartRates: 3)
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml")
        try changeHealthData(of: playground, "DELETE FROM outbox WHERE id = 1")
        try await add("audit", to: &outputs, playground, statuses: [1])
        try playground.write { url, folder in
            Playground.standardJobFile(url: url, folder: folder) + "retrys: 5\n"
        }
        try await add("validate", to: &outputs, playground, statuses: [65])

        #expect(try await faults(of: outputs, in: playground) == [])
        #expect(outputs.allSatisfy { !["", "[]\n"].contains($0.text) })
    }

    @Test(.enabled(if: hasValidator))
    func `results of accounts fit the strict schema`() async throws {
        let playground = try await Playground { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            accounts: accounts.d
            sources:
              - { kind: apple-health-export, path: "\(folder)/export.xml", time_zone: UTC }
            jobs: [{ id: upload, kind: bulk-upload }]

            """
        }
        let folder = playground.folder.path
        try #require(mkdir("\(folder)/accounts.d", 0o755) == 0)
        try playground.folder.write("table.csv", Array("id,login\nanna,demo@example.com\n".utf8))
        try playground.writeExport(heartRates: 3)
        var outputs: [Output] = []
        var number = 0
        try await add("accounts add", ["--from", "\(folder)/table.csv"], to: &outputs, playground) {
            unlink("\(folder)/accounts.d/anna.yaml")
        }
        try await add(
            "auth login", ["--accounts-from", "\(folder)/table.csv", "--password-stdin"],
            to: &outputs, playground, input: "anna Demo-Passw0rd!\n"
        ) {
            _ = try await playground.run("--account", "anna", "auth", "logout")
        }
        _ = try await playground.run("run", "anna/upload")
        try await add("accounts list", to: &outputs, playground)
        try await add("accounts show", ["anna"], to: &outputs, playground)
        try await add("outbox", ["--all"], to: &outputs, playground)
        for form in ["json", "ndjson"] {
            number += 1
            let out = "\(folder)/out\(number)"
            let result = try await playground.run("export-data", "--all", "--out", out, "-o", form)
            outputs.append(
                Output(
                    entry: form == "json" ? "export-data" : "export-data.line", text: result.output)
            )
        }
        let health = "\(playground.statePath)/accounts/anna/health.db"
        try FileConnection(path: health, access: .readWrite).execute(
            "DELETE FROM outbox WHERE id = 1")
        try await add("audit", ["--all"], to: &outputs, playground, statuses: [1])
        try await add("accounts remove", ["anna", "--wipe", "--yes"], to: &outputs, playground)
        try await add("accounts show", ["anna"], to: &outputs, playground)

        #expect(try await faults(of: outputs, in: playground) == [])
        #expect(outputs.allSatisfy { !["", "[]\n"].contains($0.text) })
    }

    @Test(
        .enabled(if: hasValidator),
        arguments: [
            (#"[{"run": 1, "message": "a", "other": 1}]"#, "'other' was unexpected"),
            (#"[{"run": 1}]"#, "'message' is a required property"),
            (#"[{"run": "1", "message": "a"}]"#, "'1' is not of type 'integer'"),
            (#"{"run": 1, "message": "a"}"#, "is not of type 'array'"),
            ("[]\n[]", "is no JSON"),
        ])
    func `the strict schema finds a document that is not as declared`(
        document: String, fault: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let found = try await faults(
            of: [Output(entry: "cancel", text: document)], in: playground)

        #expect(found.count == 1 && found.first?.contains(fault) == true, "\(found)")
    }

    @Test func `the version of the results is that of the schema`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let version = try await playground.json("--version")
        let schema = try JSONValue(try await playground.run("schema", "results").output)
        let jobFiles = try await playground.run("schema", "job-file")

        #expect(version["version"].text == programVersion)
        #expect(version["results_version"] == .number(ResultSchema.version))
        #expect(schema["$id"].text == "urn:clarity-jobs:results:\(ResultSchema.version)")
        #expect(jobFiles.output == (try await playground.run("schema").output))
    }
}
