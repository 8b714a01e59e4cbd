import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// The metrics of Prometheus, from the exporter and in the textfile.
@Suite("Metrics", .timeLimit(.minutes(5)))
struct MetricsProgramTests {
    /// A running `clarity-jobs exporter`.
    private struct Exporter {
        let program: ChildProgram
        let port: UInt16
        /// Keeps the files of the exporter.
        let playground: Playground

        init(_ playground: Playground) async throws {
            self.playground = playground
            program = try playground.start(["exporter", "--listen", "127.0.0.1:0"])
            let ready = try #require(await program.readErrorLine())
            let start = try #require(ready.firstRange(of: "http://127.0.0.1:")).upperBound
            try #require(ready.hasSuffix("/metrics"))
            port = try #require(UInt16(ready[start...].prefix { $0.isNumber }))
        }

        func metrics() async throws -> String {
            try await LoopbackRequest.send("GET", "/metrics", port: port)
        }
    }

    /// Returns a playground after a login, an upload of 3 samples, a job that failed, and an import
    /// of 2 more samples.
    private func playground(_ more: String = "") async throws -> Playground {
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder) + """
                  - id: broken
                    kind: command
                    retry: { attempts: 1 }
                    options: { command: [/bin/false] }
                \(more)

                """
        }
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        #expect(try await playground.run("run", "upload").status == 0)
        #expect(try await playground.run("run", "broken").status == 1)
        try playground.writeExport(heartRates: 5)
        #expect(
            try await playground.run("import", "\(playground.folder.path)/export.xml").status == 0)
        return playground
    }

    private func lines(_ text: String, _ name: String) -> [Substring] {
        text.split(separator: "\n").filter { $0.hasPrefix("clarity_jobs_\(name)") }
    }

    /// Returns the value of the only series with this name and these labels.
    private func value(_ text: String, _ series: String) throws -> Double {
        let lines = lines(text, "\(series) ")
        try #require(lines.count == 1, "\(series): \(lines)")
        return try #require(lines[0].split(separator: " ").last.flatMap { Double($0) })
    }

    @Test func `the exporter reports the jobs and the health data`() async throws {
        let playground = try await playground()
        let exporter = try await Exporter(playground)

        let text = try await exporter.metrics()

        #expect(try value(text, #"runs_total{job_id="upload",result="succeeded"}"#) == 1)
        #expect(try value(text, #"runs_total{job_id="upload",result="failed"}"#) == 0)
        #expect(try value(text, #"runs_total{job_id="broken",result="failed"}"#) == 1)
        #expect(try value(text, #"failures_total{job_id="broken",category="work"}"#) == 1)
        // The backend detects neither dialect nor login again: the upload is one request.
        #expect(try value(text, #"http_answers_total{job_id="upload",class="2xx"}"#) == 1)
        #expect(try value(text, #"http_answers_total{job_id="upload",class="5xx"}"#) == 0)
        #expect(
            try value(text, #"attempt_duration_seconds_bucket{job_id="upload",le="+Inf"}"#) == 1)
        #expect(try value(text, #"attempt_duration_seconds_sum{job_id="upload"}"#) > 0)
        // Both runs were asked for by hand, and were for no occurrence.
        #expect(try value(text, #"start_delay_seconds_count{job_id="upload"}"#) == 0)
        #expect(try value(text, #"last_success_timestamp_seconds{job_id="upload"}"#) > 1e9)
        #expect(try value(text, #"overdue_seconds{job_id="upload"}"#) == 0)
        #expect(lines(text, #"last_success_timestamp_seconds{job_id="broken"}"#) == [])
        #expect(try value(text, "health_data_up") == 1)
        #expect(try value(text, "logged_in") == 1)
        #expect(try value(text, #"data_age_seconds{type="heart_rate"}"#) > 86_400)
        #expect(try value(text, #"outbox_samples{state="set_aside"}"#) == 0)
        #expect(try value(text, #"outbox_samples{state="queued"}"#) == 2)
        #expect(lines(text, "outbox_samples").count == 6)
    }

    @Test func `metrics name neither the account nor a path`() async throws {
        let playground = try await playground()
        let text = try await Exporter(playground).metrics()

        #expect(text.contains("clarity_jobs_health_data_up 1"))
        for secret in ["example.com", "demo", "@", "/", playground.folder.path, playground.url] {
            // The slash of a sentence in a help text would be no path.
            let samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(!samples.contains { $0.contains(secret) }, "\(secret)")
        }
    }

    @Test func `a waiting job counts under its reason, and an overdue one by how long`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            """
            version: 1
            jobs:
              - id: waits
                kind: command
                schedule: { every: 1h }
                constraints: { storage_free: 900TiB }
                options: { command: [/bin/true] }

            """
        }
        #expect(try await playground.run("run", "--due").status == 75)
        let exporter = try await Exporter(playground)
        let before = try await exporter.metrics()
        try playground.change(
            """
            UPDATE job_records SET anchor_at_ms = anchor_at_ms - 86400000,
                considered_until_ms = considered_until_ms - 86400000
            """)

        let after = try await exporter.metrics()

        #expect(try value(before, #"waiting_jobs{reason="constraint"}"#) == 1)
        #expect(try value(before, #"waiting_jobs{reason="not_due"}"#) == 0)
        #expect(try value(before, #"overdue_seconds{job_id="waits"}"#) == 0)
        #expect((80_000...86_400).contains(try value(after, #"overdue_seconds{job_id="waits"}"#)))
        #expect(try value(after, "health_data_up") == 0)
    }

    @Test func `waits and missed occurrences count for each job`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - id: waits
                kind: command
                schedule: { every: 1h }
                constraints: { storage_free: 900TiB }
                options: { command: [/bin/true] }

            """
        }
        #expect(try await playground.run("run", "--due").status == 75)
        let exporter = try await Exporter(playground)
        let before = try await exporter.metrics()
        try playground.change(
            """
            UPDATE deferrals SET since_ms = since_ms - 7200000;
            UPDATE job_records SET anchor_at_ms = anchor_at_ms - 86400000,
                considered_until_ms = considered_until_ms - 86400000
            """)
        #expect(try await playground.run("run", "--due").status == 75)

        let after = try await exporter.metrics()
        let missed = try await playground.json("history", "missed").elements
        let sum = missed.compactMap { $0["occurrences"].number }.reduce(0, +)

        let waited = #"wait_seconds_total{job_id="waits",reason="constraint"}"#
        #expect((0..<3600).contains(try value(before, waited)))
        #expect((7200..<10_800).contains(try value(after, waited)))
        #expect(try value(after, #"wait_seconds_total{job_id="waits",reason="paused"}"#) == 0)
        #expect(try value(before, #"missed_total{job_id="waits",outcome="coalesced"}"#) == 0)
        #expect(
            try value(after, #"missed_total{job_id="waits",outcome="coalesced"}"#) == Double(sum))
        #expect(sum >= 23)
    }

    @Test func `health data without its key is missing, and the rest is there`() async throws {
        let playground = try await playground()
        let exporter = try await Exporter(playground)
        #expect(try value(try await exporter.metrics(), "health_data_up") == 1)
        #expect(unlink("\(playground.statePath)/keys/master.key") == 0)

        let text = try await exporter.metrics()
        _ = try await exporter.metrics()
        exporter.program.signal(SIGTERM)
        let end = await exporter.program.finish()

        #expect(try value(text, "health_data_up") == 0)
        #expect(lines(text, "outbox_samples") == [] && lines(text, "data_age_seconds") == [])
        #expect(try value(text, #"runs_total{job_id="upload",result="succeeded"}"#) == 1)
        #expect(
            end.errorLines == [
                "clarity-jobs: no metrics of the health data: there is no master key for "
                    + "`\(playground.statePath)/health.db`; restore `keys/master.key` beside it, "
                    + "or set `CLARITY_JOBS_KEY`"
            ])
    }

    @Test func `an open exporter holds up neither a new key nor a restore`() async throws {
        let playground = try await playground()
        let exporter = try await Exporter(playground)
        _ = try await exporter.metrics()

        let rotation = try await playground.run("key", "rotate")

        #expect(rotation.status == 0, "\(rotation.errors)")
        #expect(try value(try await exporter.metrics(), "health_data_up") == 1)
    }

    @Test func `only metrics are served, only to read, and only to this machine's names`()
        async throws
    {
        let exporter = try await Exporter(try await Playground(sandboxOptions: nil))
        func status(
            _ method: String, _ path: String, host: String = "127.0.0.1", body: String = ""
        ) async throws -> Substring {
            try await LoopbackRequest.answer(
                method, path, host: host, body: body, port: exporter.port
            ).dropFirst("HTTP/1.1 ".count).prefix(3)
        }

        let answer = try await LoopbackRequest.answer("GET", "/metrics", port: exporter.port)

        #expect(answer.hasPrefix("HTTP/1.1 200"))
        #expect(answer.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(try await status("HEAD", "/metrics") == "200")
        #expect(try await status("GET", "/metrics", host: "localhost:9187") == "200")
        #expect(try await status("GET", "/metrics", host: "evil.example:9187") == "403")
        #expect(try await status("GET", "/") == "404")
        #expect(try await status("GET", "/metrics/") == "404")
        #expect(try await status("POST", "/metrics", body: "a=b") == "405")
        #expect(try await status("DELETE", "/metrics") == "405")
    }

    @Test func `a job file with an error has no metrics until it is mended`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let exporter = try await Exporter(playground)
        try playground.write { _, _ in "version: 1\njobs: 7\n" }
        let broken = try await LoopbackRequest.answer("GET", "/metrics", port: exporter.port)
        _ = try await LoopbackRequest.answer("GET", "/metrics", port: exporter.port)
        try playground.write(jobFile: Playground.standardJobFile)

        let mended = try await exporter.metrics()
        exporter.program.signal(SIGTERM)
        let end = await exporter.program.finish()

        #expect(broken.hasPrefix("HTTP/1.1 503") && !broken.contains(playground.folder.path))
        #expect(lines(mended, "health_data_up") == ["clarity_jobs_health_data_up 0"])
        #expect(
            end.errorLines == [
                "clarity-jobs: no metrics: the job file has an error; see `clarity-jobs validate`"
            ])
    }

    @Test(arguments: [(SIGTERM, 143), (SIGINT, 130)] as [(Int32, Int32)])
    func `a signal ends the exporter`(signal: Int32, status: Int32) async throws {
        let exporter = try await Exporter(try await Playground(sandboxOptions: nil))

        exporter.program.signal(signal)
        let end = await exporter.program.finish()

        #expect(end.status == status && end.output == "" && end.errors == "")
    }

    @Test func `the exporter listens where it is told, and says in one line why it cannot`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let exporter = try await Exporter(playground)
        let taken = "127.0.0.1:\(exporter.port)"

        let busy = try await playground.run("exporter", "--listen", taken)
        let everywhere = try playground.start(["exporter", "--listen", "0.0.0.0:0"])

        #expect(
            busy.isRefusal(69, "clarity-jobs: cannot listen on \(taken): address already in use"))
        let line = await everywhere.readErrorLine()
        #expect(line?.hasPrefix("clarity-jobs: exporter listening on http://0.0.0.0:") == true)
        for address in [":9187", "*:9187", "9187", "example.com:9187", "127.0.0.1"] {
            let result = try await playground.run("exporter", "--listen", address)
            #expect(
                result.isRefusal(
                    64,
                    "clarity-jobs: `--listen \(address)` is no IPv4 address with a port; write it "
                        + "as `127.0.0.1:9187`"))
        }
        #expect(
            try await playground.run("exporter", "--help").output.contains("default 127.0.0.1:9187")
        )
    }

    // MARK: The textfile

    private func textfilePlayground(
        _ path: String = "clarity.prom", every: String = "1h"
    ) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            metrics_textfile: \(path)
            jobs:
              - id: works
                kind: command
                schedule: { every: \(every) }
                options: { command: [/bin/true] }

            """
        }
    }

    @Test func `run --due writes the textfile for everybody, and whole`() async throws {
        let playground = try await textfilePlayground()
        let path = "\(playground.folder.path)/clarity.prom"

        let first = try await playground.run("run", "--due")
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        unlink(path)
        let second = try await playground.run("run", "--due")

        #expect(first.status == 0 && first.errors == "" && first.output == "")
        #expect(try value(text, #"runs_total{job_id="works",result="succeeded"}"#) == 1)
        #expect(try value(text, #"start_delay_seconds_count{job_id="works"}"#) == 1)
        // Gauges change even while nothing is due.
        #expect(second.status == 0 && access(path, R_OK) == 0)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o644)
        let names = try playground.folder.contents().keys.filter { $0.contains("clarity.prom") }
        #expect(names == ["clarity.prom"])
    }

    @Test func `a textfile that cannot be written is one line and stops nothing`() async throws {
        let playground = try await textfilePlayground("none/clarity.prom")

        let result = try await playground.run("run", "--due")

        #expect(result.status == 0 && result.output == "")
        #expect(
            result.errorLines == [
                "clarity-jobs: no metrics: cannot write "
                    + "`\(playground.folder.path)/none/clarity.prom`: No such file or directory"
            ])
        #expect(try await playground.lastRun(of: "works")["state"].text == "succeeded")
    }

    @Test func `the loop writes the textfile when it starts, when it ends, and seldom between`()
        async throws
    {
        let playground = try await textfilePlayground(every: "1s")
        let path = "\(playground.folder.path)/clarity.prom"
        let loop = try playground.start(["loop"])
        #expect(await loop.readErrorLine() == "clarity-jobs: loop over 1 job")
        while access(path, F_OK) != 0 { await Task.yield() }
        unlink(path)
        for _ in 0..<3 {
            #expect(await loop.readErrorLine()?.contains("works: succeeded") == true)
        }
        let isThereMeanwhile = access(path, F_OK) == 0

        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(end.status == 143)
        #expect(!isThereMeanwhile)
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        #expect(try value(text, #"runs_total{job_id="works",result="succeeded"}"#) >= 3)
    }

    @Test func `a textfile has the ending that the node exporter wants`() async throws {
        let playground = try await textfilePlayground("clarity.txt")

        let result = try await playground.run("run", "--due")

        let path = playground.jobFilePath
        #expect(
            result.isRefusal(
                65,
                "\(path):2:19: metrics_textfile `\(playground.folder.path)/clarity.txt` does not "
                    + "end in `.prom`", "help: the node exporter reads no other files"))
    }

    // MARK: Prometheus

    private static let hasPrometheus =
        access("/usr/bin/prometheus", X_OK) == 0 && access("/usr/bin/promtool", X_OK) == 0

    private static let folder = "\(Playground.root)/deploy/prometheus"

    @Test(.enabled(if: hasPrometheus, "needs prometheus"))
    func `promtool finds nothing to criticise in the text`() async throws {
        let text = try await Exporter(try await playground()).metrics()

        let check = try await ChildProgram.run(
            "/usr/bin/promtool", ["check", "metrics"], input: text)

        #expect(check.status == 0 && check.output == "" && check.errors == "", "\(check)")
    }

    @Test(
        .enabled(if: hasPrometheus, "needs prometheus"),
        arguments: [
            ["check", "config", "\(folder)/prometheus.yml"],
            ["check", "rules", "\(folder)/alerts.yml"],
            ["test", "rules", "\(folder)/alerts_test.yml"],
        ])
    func `promtool accepts what is shipped`(arguments: [String]) async throws {
        let check = try await ChildProgram.run("/usr/bin/promtool", arguments)

        #expect(check.status == 0, "\(check)")
        #expect(check.output.contains("SUCCESS"))
    }

    @Test func `dashboard and alerts use only metrics that exist`() async throws {
        let text = try await Exporter(try await playground("fresh: { heart_rate: 1h }")).metrics()
        let known = Set(
            lines(text, "").map { String($0.prefix { $0 != "{" && $0 != " " }) })
        let dashboard = try JSONValue(
            String(
                decoding: try TemporaryFolder.read("\(Self.folder)/dashboard.json"), as: UTF8.self))
        let alerts = String(
            decoding: try TemporaryFolder.read("\(Self.folder)/alerts.yml"), as: UTF8.self)

        let panels = dashboard["panels"].elements
        let expressions = panels.flatMap { $0["targets"].elements }.compactMap { $0["expr"].text }
        let used = (expressions + [alerts]).flatMap {
            $0.matches(of: /clarity_jobs_[a-z_]+/).map { String($0.output) }
        }

        #expect((6...10).contains(panels.count) && expressions.count >= panels.count)
        #expect(used.count > 10)
        #expect(Set(used).subtracting(known) == [])
    }

    @Test(.enabled(if: hasPrometheus, "needs prometheus"))
    func `Prometheus scrapes the exporter and answers with its values`() async throws {
        let playground = try await playground()
        let exporter = try await Exporter(playground)
        let port = UInt16(try DeafPort().number)
        try playground.folder.write(
            "prometheus.yml",
            Array(
                """
                scrape_configs:
                  - job_name: clarity-jobs
                    scrape_interval: 50ms
                    scrape_timeout: 50ms
                    static_configs: [{ targets: ['127.0.0.1:\(exporter.port)'] }]

                """.utf8))
        let prometheus = try ChildProgram(
            "/usr/bin/prometheus",
            [
                "--config.file", "\(playground.folder.path)/prometheus.yml",
                "--storage.tsdb.path", "\(playground.folder.path)/series",
                "--web.listen-address", "127.0.0.1:\(port)",
            ], environment: ["HOME": playground.folder.path])
        while let line = await prometheus.readErrorLine() {
            if line.contains("ready to receive web requests") { break }
        }
        func ask(_ query: String) async throws -> [String] {
            while true {
                let answer = try JSONValue(
                    try await LoopbackRequest.send(
                        "GET", "/api/v1/query?query=\(query)", port: port))
                let values = answer["data"]["result"].elements.compactMap {
                    $0["value"].elements.last?.text
                }
                if !values.isEmpty { return values }
            }
        }

        let succeeded = try await ask(
            "clarity_jobs_runs_total%7Bjob_id=%22upload%22,result=%22succeeded%22%7D")
        let failed = try await ask("sum(clarity_jobs_failures_total)")
        let attempts = try await ask("sum(clarity_jobs_attempt_duration_seconds_count)")
        let samples = try await ask("sum(clarity_jobs_outbox_samples)")
        let up = try await ask("clarity_jobs_health_data_up")

        #expect(succeeded == ["1"] && failed == ["1"] && samples == ["2"] && up == ["1"])
        #expect(try #require(Int(attempts[0])) >= 3)
    }
}
