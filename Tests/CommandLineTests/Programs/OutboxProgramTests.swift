import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

@Suite("outbox", .timeLimit(.minutes(5)))
struct OutboxProgramTests {
    /// Returns a playground with three samples that the backend refused.
    private func refused() async throws -> Playground {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        try await playground.sandbox?.addFault("POST /health-data/upload: 422 x*")
        _ = try await playground.run("run", "upload")
        try await playground.sandbox?.clearFaults()
        return playground
    }

    private func audit(_ playground: Playground) async throws -> ProgramResult {
        try await playground.run("audit")
    }

    @Test func `packed samples are accounted for, and are not sent when they come again`()
        async throws
    {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try playground.writeExport(heartRates: 2500)
        #expect(try await playground.run("run", "upload").status == 0)
        let outbox = try await playground.run("outbox")
        let uploads = try await sandbox.count("uploads")

        // Another export of the same phone, with its records in another order and five more.
        try playground.writeExport(heartRates: 2505)
        let path = "\(playground.folder.path)/export.xml"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let records = lines.filter { $0.contains("<Record ") }.reversed()
        try playground.folder.write(
            "export.xml",
            Array((lines.prefix(4) + records + ["</HealthData>"]).joined(separator: "\n").utf8))
        #expect(try await playground.run("run", "upload").status == 0)
        let health = try FileConnection(
            path: "\(playground.statePath)/health.db", access: .readOnly)

        let rows = try ["packed_samples", "outbox"].map { table in
            try health.first("SELECT count(*) FROM \(table)") { $0.integer(0) }
        }
        #expect(rows == [1, 5])
        #expect(
            outbox.outputLines[4] == "2500 samples = 2500 confirmed")
        #expect(try await sandbox.count("distinct_metric_ids") == 2505)
        #expect(try await sandbox.count("uploads") == uploads + 1)
        let audit = try await audit(playground)
        #expect(audit.status == 0, "\(audit.output)")
        let list = try await playground.run("outbox", "list", "--in-state", "confirmed")
        #expect(list.errors.contains("2500 more need nothing and are packed"), "\(list.errors)")
        let metrics = try await playground.run("metrics")
        #expect(metrics.output.contains("2505"), "\(metrics.output)")
    }

    @Test func `the outbox of the example accounts for every record`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.useExample("export.zip")
        let before = try await playground.run("outbox")
        #expect(try await playground.run("run", "upload").status == 0)

        let outbox = try await playground.run("outbox")
        let json = try await playground.json("outbox")
        let line = try await playground.run("outbox", "-o", "ndjson")
        let audit = try await audit(playground)

        #expect(before.status == 0)
        #expect(outbox.status == 0, "\(outbox.errors)")
        #expect(
            outbox.outputLines.prefix(5) == [
                "all sent",
                "2144 records read = 750 queued + 3 known + 22 second halves of a blood pressure + "
                    + "1235 of days, nights and workouts + 7 repeated + 127 kept here",
                "95 days, nights and workouts = 95 queued",
                "845 samples = 750 queued + 95 days, nights and workouts",
                "845 samples = 845 confirmed",
            ])
        #expect(json["balanced"] == .bool(true))
        #expect(json["records"]["read"].number == 2144)
        #expect(json["outbox"]["set_aside"].number == 0)
        #expect(line.outputLines.count == 1)
        #expect(
            audit.outputLines == [
                "the history is sound: no occurrence is missing or double",
                "the outbox is sound: 845 samples, 1 reading",
                "the archive is sound: 2231 records",
            ])
    }

    @Test func `audit checks the outbox and names damage`() async throws {
        let playground = try await refused()
        let health = try FileConnection(
            path: "\(playground.statePath)/health.db", access: .readWrite)
        try health.execute("UPDATE readings SET known = known + 1 WHERE tag NOT NULL")

        let audit = try await audit(playground)
        let json = try await playground.json(status: 1, "audit")
        let lines = try await playground.run("audit", "-o", "ndjson")
        let sums = try await playground.run("outbox")

        #expect(audit.status == 1)
        #expect(
            audit.outputLines.contains(
                "outbox-records: entry 1 tells of 3 records and accounts for 4"))
        #expect(json.elements.count == 1)
        #expect(json.elements[0]["rule"].text == "outbox-records")
        #expect(lines.status == 1 && lines.outputLines.count == 1)
        #expect(sums.status == 1)
        #expect(sums.outputLines.last == "the sums do not hold; run `clarity-jobs audit`")
    }

    @Test func `samples are listed and shown without their values`() async throws {
        let playground = try await refused()

        let list = try await playground.run("outbox", "list", "--in-state", "rejected")
        let json = try await playground.json("outbox", "list", "--type", "heart_rate", "-n", "2")
        let cut = try await playground.run("outbox", "list", "-n", "2")
        let quiet = try await playground.run("outbox", "list", "-n", "2", "-q")
        let show = try await playground.run("outbox", "show", "1")
        let object = try await playground.json("outbox", "show", "1")
        let missing = try await playground.run("outbox", "show", "99")
        let old = try await playground.run("outbox", "list", "--age", "10000d")
        let piped = try await playground.run("outbox", "show", "1", "--values")

        #expect(list.status == 0 && list.outputLines.count == 3, "\(list.errors)")
        #expect(
            list.outputLines[2]
                == "1  heart_rate  2026-10-01T00:00:00Z  rejected  "
                + "(the backend does not accept what was sent)")
        #expect(json.elements.count == 2 && json.elements[0]["state"].text == "rejected")
        #expect(cut.errors == "1 more; see --limit\n")
        #expect(quiet.outputLines.count == 2 && quiet.errors == "" && quiet.status == 0)
        #expect(show.outputLines.first == "sample 1: heart_rate" && show.status == 0)
        #expect(!show.output.contains("60") && !show.output.contains("Watch"))
        #expect(object["failures"].number == 0 && object["hold"] == .null)
        #expect(missing.isRefusal(1, "clarity-jobs: the outbox has no sample 99"))
        #expect(old.output == "")
        #expect(
            piped.isRefusal(
                64, "clarity-jobs: --values shows health data on a terminal alone"))
    }

    @Test func `a refused sample is resent on request`() async throws {
        let playground = try await refused()

        let bare = try await playground.run("outbox", "retry")
        let unasked = try await playground.run("outbox", "retry", "--in-state", "rejected")
        let retry = try await playground.run("outbox", "retry", "--in-state", "rejected", "--yes")
        let again = try await playground.json("outbox", "retry", "--all", "--yes")
        let run = try await playground.run("run", "upload")
        let sums = try await playground.json("outbox")
        let log = try await playground.run("audit", "log")

        #expect(
            bare.isRefusal(
                64, "clarity-jobs: `outbox retry` wants numbers of samples, a filter, or --all"))
        #expect(unasked.status == 64)
        #expect(
            unasked.errorLines == [
                "  3 heart_rate rejected",
                "clarity-jobs: there is no terminal to ask on; use --yes to retry these",
            ])
        #expect(retry.status == 0 && retry.output == "3 samples waiting to be sent again\n")
        #expect(again["retried"].number == 0)
        #expect(run.status == 0, "\(run.errors)")
        #expect(sums["outbox"]["confirmed"].number == 3)
        #expect(log.output.contains("  requeued  heart_rate 3  (sent again by a person)  outbox"))
        #expect(try await playground.sandbox?.count("metrics") == 3)
        #expect(try await audit(playground).status == 0)
    }

    @Test func `samples are retried and discarded by their numbers, or none of them`() async throws
    {
        let playground = try await refused()
        func act(_ words: String...) async throws -> ProgramResult {
            try await playground.start(["outbox"] + words + ["--yes"]).finish()
        }

        let missing = try await act("discard", "1", "99")
        let wrong = try await act("retry", "1", "x")
        let held = try await playground.json("outbox")
        let retried = try await act("retry", "1", "3")
        let queued = try await act("retry", "2", "3")
        let discarded = try await act("discard", "2", "3")
        let again = try await act("discard", "2")
        let lost = try await act("retry", "2")
        let kept = try await act("retry", "1", "--reason", "discarded")
        let back = try await act("retry", "2", "--reason", "discarded")

        #expect(missing.isRefusal(1, "clarity-jobs: the outbox has no sample 99"))
        #expect(
            wrong.isRefusal(
                64, "clarity-jobs: `outbox retry` wants numbers of samples, got `x`"))
        #expect(held["outbox"]["rejected"].number == 3)
        #expect(retried.status == 0 && retried.output == "2 samples waiting to be sent again\n")
        #expect(
            queued.isRefusal(
                64,
                "clarity-jobs: sample 3 is queued; only a rejected, set aside, unconfirmed or "
                    + "stored one can be queued again"))
        #expect(discarded.status == 0 && discarded.output == "2 samples discarded\n")
        #expect(again.isRefusal(64, "clarity-jobs: sample 2 was discarded before"))
        #expect(
            lost.isRefusal(
                64, "clarity-jobs: sample 2 was discarded; --reason discarded brings it back"))
        #expect(kept.isRefusal(64, "clarity-jobs: sample 1 was not discarded"))
        #expect(back.status == 0 && back.output.hasPrefix("1 sample forgotten; "))
        _ = try await playground.run("run", "upload")
        let sent = try await act("discard", "1")
        #expect(
            sent.isRefusal(
                64,
                "clarity-jobs: sample 1 is confirmed; only a queued, rejected or set aside one can be "
                    + "discarded"), "\(sent.errors)")
        #expect(try await audit(playground).status == 0)
    }

    @Test func `a discarded sample stays known, and comes back with --reason discarded`()
        async throws
    {
        let playground = try await refused()

        let discard = try await playground.run(
            "outbox", "discard", "--in-state", "rejected", "--yes")
        try playground.writeExport(heartRates: 4)
        _ = try await playground.run("run", "upload")
        let sent = try await playground.sandbox?.count("metrics")
        let back = try await playground.run("outbox", "retry", "--reason", "discarded", "--yes")
        _ = try await playground.run("run", "upload")

        #expect(discard.status == 0 && discard.output == "3 samples discarded\n")
        #expect(sent == 1)
        #expect(
            back.output
                == "3 samples forgotten; the next reading of the sources brings them again\n")
        #expect(try await playground.sandbox?.count("metrics") == 4)
        #expect(try await audit(playground).status == 0)
        #expect(try await playground.json("outbox")["outbox"]["samples"].number == 4)
    }

    @Test func `the outbox asks on a terminal and acts only on yes`() async throws {
        let playground = try await refused()
        func discard(_ answer: String) async throws -> (
            asked: String, status: Int32, screen: String
        ) {
            let program = try playground.onTerminal("outbox", "discard", "--all")
            let asked = await program.read(until: "[y/N] ")
            program.type(answer)
            let end = await program.finish()
            return (asked, end.status, end.screen)
        }

        let no = try await discard("n\n")
        let held = try await playground.json("outbox")
        let yes = try await discard("y\n")

        #expect(
            no.asked == "  3 heart_rate rejected\n"
                + "Give up 3 samples? The values are removed from this machine. [y/N] ")
        #expect(no.status == 1 && no.screen.hasSuffix("clarity-jobs: nothing was done\n"))
        #expect(held["outbox"]["rejected"].number == 3)
        #expect(yes.status == 0 && yes.screen.hasSuffix("3 samples discarded\n"))
    }

    @Test func `a value is shown on a terminal, and the audit log says so`() async throws {
        let playground = try await refused()

        let program = try playground.onTerminal("outbox", "show", "1", "--values")
        let end = await program.finish()
        let log = try await playground.run("audit", "log")

        #expect(end.status == 0)
        #expect(end.screen.contains("value: 60.0") && end.screen.contains("source: Watch"))
        #expect(log.outputLines.last?.contains("read  heart_rate 1  (shown to a person)") == true)
    }

    @Test func `a query creates nothing, and a wrong one is reported`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let sums = try await playground.run("outbox")
        let json = try await playground.json("outbox")
        let list = try await playground.run("outbox", "list", "-o", "json")
        let limit = try await playground.run("outbox", "list", "-n", "0")
        let type = try await playground.run("outbox", "list", "--type", "heartbeat")
        let age = try await playground.run("outbox", "list", "--age", "old")

        #expect(sums.status == 0 && sums.output == "" && sums.errors == "nothing is kept yet\n")
        #expect(list.output == "[]\n")
        #expect(json["balanced"] == .bool(true) && json["outbox"]["samples"].number == 0)
        #expect(
            type.status == 64
                && type.errors.hasPrefix(
                    "clarity-jobs: there is no type `heartbeat`; there are heart_rate, ")
        )
        #expect(limit.isRefusal(64, "clarity-jobs: --limit is a number from 1 to 100000"))
        #expect(
            age.isRefusal(64, "clarity-jobs: --age is a span such as `30d`, got `old`"))
        #expect(try playground.folder.contents().filter { $0.key.hasPrefix("state/") }.isEmpty)
    }

    @Test func `a dry run leaves the ledger and the outbox unchanged`() async throws {
        let playground = try await refused()
        _ = try await playground.run("outbox", "retry", "--all", "--yes")
        let before = try playground.folder.contents().filter { $0.key.hasSuffix("health.db") }

        let dryRun = try await playground.run("dry-run", "upload")

        #expect(dryRun.status == 0, "\(dryRun.errors)")
        #expect(dryRun.output.contains("POST "))
        #expect(
            try playground.folder.contents().filter { $0.key.hasSuffix("health.db") } == before)
    }

    @Test func `the backend's message about a sample is shown without values`() async throws {
        let answer = """
            {"processing_id": "p", "status": "received", "accepted_metrics": 0, \
            "rejected_metrics": 1, "validation_errors": [{"field": \
            "metrics[0].biometric_data.heart_rate", "code": "odd_value", \
            "message": "60.0 bpm of \\"Watch\\" is odd at 2026-10-01T00:00:00Z"}]}
            """
        let login = """
            {"user": {"user_id": "0b8e6c1e-0000-4000-8000-000000000001", "email": "a@example.org"},
             "tokens": {"access_token": "a", "refresh_token": "r", "token_type": "bearer", \
            "expires_in": 3600}}
            """
        let server = try ScriptedServer([.answer(200, login), .answer(201, answer)])
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            Playground.standardJobFile(url: "\(server.url)/api/v1", folder: folder)
                .replacing("  retry_wait", with: "  dialect: blueprint\n  retry_wait")
        }
        try await playground.logIn()
        try playground.writeExport(heartRates: 1)
        _ = try await playground.run("run", "upload")

        let show = try await playground.run("outbox", "show", "1")

        #expect(show.status == 0, "\(show.errors)")
        #expect(
            show.outputLines.contains(
                "  rejected: `biometric_data.heart_rate`: odd_value"), "\(show.output)")
        #expect(
            show.outputLines.contains("  the backend said: # bpm of ... is odd at #"),
            "\(show.output)")
    }

    @Test func `the limits of an upload are checked with the job file`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "    kind: bulk-upload\n",
                with: "    kind: bulk-upload\n"
                    + "    options: { metered_budget: 10, large_upload: -1 }\n")
        }

        let result = try await playground.run("validate")

        #expect(result.status == 65)
        #expect(result.errors.contains("`10` has no unit; write `10MiB` or `10GiB`"))
        #expect(result.errors.contains("`-1` is out of range, wanted 0 to 1000000000"))
    }
}

/// The conditions of the machine that an upload respects beyond the constraints of its job.
@Suite(
    "the limits of an upload", .timeLimit(.minutes(5)),
    .enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)))
struct UploadLimitProgramTests {
    private func playground(_ options: String) async throws -> Playground {
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "    kind: bulk-upload\n",
                with: "    kind: bulk-upload\n    options: { \(options) }\n")
        }
        try await playground.logIn()
        return playground
    }

    @Test func `many samples are read on battery and sent on external power`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        try await bus.setOnBattery(true)
        let playground = try await playground("large_upload: 2")
        try playground.writeExport(heartRates: 3)

        let battery = try await playground.run("run", "upload", environment: bus.environment)
        let waiting = try await playground.json("outbox")["outbox"]["waiting"]
        let sent = try await playground.sandbox?.count("metrics")
        try await bus.setOnBattery(false)
        let powered = try await playground.run("run", "upload", environment: bus.environment)

        #expect(battery.status == 75, "\(battery.errors)")
        #expect(waiting.number == 3 && sent == 0)
        #expect(powered.status == 0, "\(powered.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 3)
    }

    @Test func `an upload over a metered connection keeps within the job's budget`() async throws {
        let bus = try await MockBus()
        try await bus.start(.networkManager)
        try await bus.connect(over: "802-11-wireless", metered: 1)
        let playground = try await playground("metered_budget: 64KiB, large_upload: 0")
        try playground.writeExport(heartRates: 600)

        let metered = try await playground.run("run", "upload", environment: bus.environment)
        let sent = try #require(try await playground.sandbox?.count("metrics"))
        try await bus.connect(over: "802-11-wireless", metered: 2)
        let free = try await playground.run("run", "upload", environment: bus.environment)

        #expect(metered.status == 75, "\(metered.errors)")
        #expect((100..<400).contains(sent), "\(sent)")
        #expect(free.status == 0, "\(free.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 600)
    }
}
