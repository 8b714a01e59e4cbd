import ClarityScheduler
import ClarityTestSupport
import HealthModel
@testable import Platform
@testable import ProgramTestSupport
import Testing

/// Days and nights that a job publishes to a real broker, through the built programs.
@Suite(
    "Days and nights in Home Assistant", .timeLimit(.minutes(5)),
    .enabled(if: MosquittoBroker.isAvailable, Comment(rawValue: MosquittoBroker.need)))
struct PublishProgramTests {
    private static let user = "username: \(MosquittoBroker.user), secret: HOME_PASSWORD"

    private func publish(
        _ playground: Playground, _ words: String..., password: String = MosquittoBroker.password
    ) async throws -> ProgramResult {
        try await playground.start(
            (words.isEmpty ? ["run", "home", "-v"] : words),
            environment: ["HOME_PASSWORD": password]
        ).finish()
    }

    private func states(_ messages: [String: String]) throws -> [String: JSONValue] {
        var states: [String: JSONValue] = [:]
        for (topic, message) in messages where topic.hasPrefix("clarity-jobs/clarity_") {
            states[String(topic.split(separator: "/")[2])] = try JSONValue(message)
        }
        return states
    }

    @Test func `sensors have the newest day and night, and a second run sends nothing`()
        async throws
    {
        let broker = try await MosquittoBroker()
        let playground = try await PublishedHome.playground(
            "to: mqtt, url: \"mqtt://127.0.0.1:\(broker.port)\", \(Self.user), person: Ada")

        let run = try await publish(playground)
        let messages = try await broker.retained()
        let again = try await publish(playground)
        let heart = try await playground.json("metrics", "heart_rate")
        let steps = try await playground.json("metrics", "steps")
        let sleep = try await playground.json("metrics", "sleep")
        let nights = try await playground.json("nights", "--since", "3d")
        let log = try await playground.run("audit", "log")
        let history = try await playground.lastRun(of: "home")

        #expect(run.status == 0, "\(run.errors)")
        let url = "`mqtt://127.0.0.1:\(broker.port)`"
        #expect((run.output + run.errors).contains("published 1 day and 1 night to \(url)"))
        let states = try states(messages)
        let yesterday = PublishedHome.day(-1)
        func newest(_ page: JSONValue, _ measure: String) -> JSONValue {
            page["measures"].elements.first { $0["measure"].text == measure }?["days"].elements
                .last { $0["day"].text == yesterday } ?? .null
        }
        let day = newest(heart, "heart_rate")
        #expect(day["mean"] == .real(65.625))
        #expect(
            states["heart_rate"]
                == .object([
                    "value": day["mean"], "day": .string(yesterday), "count": day["count"],
                    "min": day["min"], "max": day["max"],
                ]))
        #expect(states["steps"]?["value"] == newest(steps, "steps")["total"])
        #expect(newest(steps, "steps")["total"].number == 1001)
        for measure in ["total_sleep_minutes", "deep_sleep_minutes", "light_sleep_minutes"] {
            #expect(
                states[measure]?["value"] == newest(sleep, measure)["total"], "\(measure)")
        }
        let night = try #require(nights["rows"].elements.first)
        #expect(night["night"].text == yesterday)
        #expect(states["night_start"]?["value"] == night["start"])
        #expect(states["night_end"]?["value"] == night["end"])
        #expect(states["total_sleep_minutes"]?["value"] == night["asleep_minutes"])

        // Each state has the description by which Home Assistant finds it.
        let descriptions = messages.filter { $0.key.hasSuffix("/config") }
        #expect(descriptions.count == states.count && messages.count == 2 * states.count)
        var ids: Set<String> = []
        for (topic, message) in descriptions {
            let parts = topic.split(separator: "/").map(String.init)
            let description = try JSONValue(message)
            #expect(parts[0] == "homeassistant" && parts[1] == "sensor")
            #expect(messages[description["state_topic"].text ?? ""] != nil)
            #expect(description["unique_id"].text == "\(parts[2])_\(parts[3])")
            #expect(description["device"]["name"].text == "Ada")
            #expect(description["origin"]["name"].text == "clarity-jobs")
            #expect(description["value_template"].text == "{{ value_json.value }}")
            ids.insert(parts[2])
        }
        #expect(ids.count == 1 && ids.first?.wholeMatch(of: /clarity_[0-9a-f]{16}/) != nil)
        let temperature = try JSONValue(
            try #require(descriptions.first { $0.key.contains("/heart_rate/") }).value)
        #expect(temperature["unit_of_measurement"].text == "bpm")
        #expect(temperature["state_class"].text == "measurement")
        let start = try JSONValue(
            try #require(descriptions.first { $0.key.contains("/night_start/") }).value)
        #expect(start["device_class"].text == "timestamp" && start["state_class"] == .null)

        #expect(again.status == 0 && again.output.contains(" 0 days published, 0 nights"))
        #expect(history["summary"].text == "0 days published")
        let entries = log.outputLines.filter { $0.contains("by publish") }
        let entry = try #require(entries.first)
        #expect(entries.count == 1 && entry.contains("exported") && entry.contains("heart_rate 1"))
        #expect(entry.contains("(to \(url.dropFirst().dropLast()), by publish)  home run"))
        for value in ["65.625", "1001", MosquittoBroker.password] {
            #expect(!(log.output + run.output + run.errors).contains(value))
        }
    }

    @Test func `a corrected day comes again alone, and a new key keeps the sensors`() async throws {
        let broker = try await MosquittoBroker()
        let playground = try await PublishedHome.playground(
            "to: mqtt, url: \"mqtt://127.0.0.1:\(broker.port)\", \(Self.user)")
        _ = try await publish(playground)
        let before = try await broker.retained()

        let rotation = try await playground.run("key", "rotate")
        try await PublishedHome.read(playground, extraSteps: 500)
        let run = try await publish(playground)
        let after = try await broker.retained()

        #expect(rotation.status == 0 && run.status == 0, "\(rotation.errors) \(run.errors)")
        #expect(run.output.contains("1 day published"), "\(run.output)")
        let changed = after.filter { before[$0.key] != $0.value }
        #expect(changed.keys.map { $0.split(separator: "/").last } == ["steps"])
        #expect(try states(after)["steps"]?["value"].number == 1501)
        #expect(Set(before.keys) == Set(after.keys))
    }

    @Test func `a type that is published no more takes its sensors along`() async throws {
        let broker = try await MosquittoBroker()
        let options = "to: mqtt, url: \"mqtt://127.0.0.1:\(broker.port)\", \(Self.user)"
        let playground = try await PublishedHome.playground(options)
        _ = try await publish(playground)

        try PublishedHome.write(playground, "\(options), types: [heart_rate]")
        let run = try await publish(playground)

        #expect(run.status == 0, "\(run.errors)")
        let topics = try await broker.retained().keys
        #expect(topics.count == 2 && topics.allSatisfy { $0.contains("/heart_rate") }, "\(topics)")
    }

    @Test func `a value that is too old is unknown`() async throws {
        let broker = try await MosquittoBroker()
        let options = "to: mqtt, url: \"mqtt://127.0.0.1:\(broker.port)\", \(Self.user)"
        let playground = try await PublishedHome.playground(options, from: 3)
        _ = try await publish(playground)
        let known = try states(try await broker.retained())

        try PublishedHome.write(playground, "\(options), days: 2")
        let run = try await publish(playground)
        let unknown = try await broker.retained()

        #expect(known["steps"]?["value"].number == 1003)
        #expect(run.status == 0, "\(run.errors)")
        #expect(try states(unknown)["steps"] == .object(["value": .null]))
        #expect(unknown.keys.contains { $0.hasSuffix("/steps/config") })
    }

    @Test func `a dry run names what it would publish, and publishes nothing`() async throws {
        let broker = try await MosquittoBroker()
        let playground = try await PublishedHome.playground(
            "to: mqtt, url: \"mqtt://127.0.0.1:\(broker.port)\", \(Self.user), "
                + "types: [heart_rate, activity, nights]")

        let dry = try await publish(playground, "dry-run", "home")
        let kept = try await broker.retained()
        let run = try await publish(playground)
        let next = try await publish(playground, "dry-run", "home")

        #expect(dry.status == 0 && run.status == 0, "\(dry.errors) \(run.errors)")
        let url = "`mqtt://127.0.0.1:\(broker.port)`"
        #expect(
            dry.outputLines.first
                == "would publish 1 day and 1 night to \(url): heart_rate, nights, steps")
        #expect(kept.isEmpty)
        #expect(next.outputLines.first == "would publish nothing new to \(url)")
    }

    @Test func `a broker that refuses, or is down, says so in one line`() async throws {
        let port = try DeafPort()
        let broker = try await MosquittoBroker(rules: "topic readwrite elsewhere/#")
        func failing(_ options: String, password: String = MosquittoBroker.password) async throws
            -> (status: Int32, line: String)
        {
            let playground = try await PublishedHome.playground("to: mqtt, \(options)")
            let run = try await publish(
                playground, "run", "home", "--force", password: password)
            return (run.status, run.errorLines.last ?? "")
        }
        let url = "mqtt://127.0.0.1:\(broker.port)"

        let password = try await failing("url: \"\(url)\", \(Self.user)", password: "wrong")
        let nobody = try await failing("url: \"\(url)\"")
        let rules = try await failing("url: \"\(url)\", \(Self.user)")
        let down = try await failing("url: \"mqtt://127.0.0.1:\(port.number)\", \(Self.user)")
        let unnamed = try await failing(
            "url: \"\(url)\", username: home, secret: HOME_NO_PASSWORD")
        let open = try await failing("url: \"mqtt://192.0.2.1\", \(Self.user)")

        #expect(password.status == 77 && rules.status == 77 && nobody.status == 77)
        #expect(password.line.contains("`\(url)` refuses the user or password"), "\(password)")
        #expect(nobody.line.contains("`\(url)` wants a user and password"), "\(nobody)")
        #expect(
            rules.line.contains("`\(url)` does not let this user write the topics"), "\(rules)")
        #expect(down.status == 69 && down.line.contains("cannot be reached"), "\(down)")
        #expect(unnamed.status == 78, "\(unnamed)")
        #expect(open.status == 78 && open.line.contains("public address"), "\(open)")
    }

    @Test func `a broker that was down gets everything at the next attempt`() async throws {
        let port = try DeafPort().number
        let playground = try await PublishedHome.playground(
            "to: mqtt, url: \"mqtt://127.0.0.1:\(port)\", \(Self.user)",
            retry: "retry: { attempts: 2, initial: 10s }")

        let down = try await publish(playground, "run", "home")
        let broker = try await MosquittoBroker(port: port)
        let run = try await publish(playground, "run", "home", "--force")

        #expect(down.status == 75 && down.errors.contains("tries again at"), "\(down)")
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        #expect(try states(try await broker.retained())["steps"]?["value"].number == 1001)
    }

    @Test func `TLS trusts the authorities that the job names, and no others`() async throws {
        let authority = try await TestAuthority()
        let broker = try await MosquittoBroker(identity: try await authority.identity("broker"))
        let other = try await MosquittoBroker(
            identity: try await authority.identity("other", subject: "other"))
        func run(_ port: Int, _ options: String) async throws -> ProgramResult {
            let playground = try await PublishedHome.playground(
                "to: mqtt, url: \"mqtts://127.0.0.1:\(port)\", \(Self.user)\(options)")
            return try await publish(playground, "run", "home")
        }
        let bundle = ", ca_bundle: \"\(authority.certificate)\""

        let trusted = try await run(broker.port, bundle)
        let unknown = try await run(broker.port, "")
        let otherHost = try await run(other.port, bundle)

        #expect(trusted.status == 0, "\(trusted.output)")
        #expect(try states(try await broker.retained(trusting: authority)).count > 5)
        for refused in [unknown, otherHost] {
            #expect(refused.status == 78, "\(refused.output)")
            #expect(refused.errors.contains("has no certificate or TLS that is trusted"))
        }
    }

    @Test func `each account has a device of its own`() async throws {
        let broker = try await MosquittoBroker()
        let playground = try await PublishedHome.playground(
            "to: mqtt, url: \"mqtt://127.0.0.1:\(broker.port)\", \(Self.user)",
            accounts: ["ada", "eve"])

        let ada = try await publish(playground, "run", "ada/home")
        let eve = try await publish(playground, "run", "eve/home")
        let messages = try await broker.retained()

        #expect(ada.status == 0 && eve.status == 0, "\(ada.output) \(eve.output)")
        let devices = try messages.filter { $0.key.hasSuffix("/config") }
            .reduce(into: [String: Set<String>]()) { devices, message in
                let device = try JSONValue(message.value)["device"]
                devices[device["name"].text ?? "", default: []]
                    .insert(device["identifiers"].elements.first?.text ?? "")
            }
        #expect(devices.keys.sorted() == ["ada", "eve"])
        #expect(devices.values.allSatisfy { $0.count == 1 } && devices["ada"] != devices["eve"])
    }
}

/// A home without a backend: invented days and nights, and a job that publishes them.
enum PublishedHome {
    /// Returns the date so many days from today, in UTC.
    static func day(_ offset: Int) -> String {
        let today = SystemClock().now.secondsSince1970 / 86_400
        return CivilDay(daysSince1970: Int(today) + offset).description
    }

    /// Returns a playground that has read its days: `1000 + n` steps and two heart rates `n` days
    /// ago, and a night that ends then, from `first` days ago on.
    static func playground(
        _ options: String, from first: Int = 1, days: Int = 3,
        retry: String = "retry: { attempts: 1 }", accounts: [String] = []
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        try write(playground, options, retry: retry, accounts: accounts)
        try await read(playground, from: first, days: days, accounts: accounts)
        return playground
    }

    static func write(
        _ playground: Playground, _ options: String, retry: String = "retry: { attempts: 1 }",
        accounts: [String] = []
    ) throws {
        try playground.write { _, folder in
            """
            version: 1
            \(accounts.isEmpty ? "" : "accounts: [\(accounts.map { "{ id: \($0) }" }.joined(separator: ", "))]")
            sources:
              - { kind: apple-health-export, path: "\(folder)/\(accounts.isEmpty ? "export" : "{account}").xml", time_zone: UTC }
            jobs:
              - { id: import, kind: import, schedule: { every: 1d } }
              - { id: home, kind: publish, schedule: { every: 1d }, \(retry), options: { \(options) } }

            """
        }
    }

    static func read(
        _ playground: Playground, from first: Int = 1, days: Int = 3, extraSteps: Int = 0,
        accounts: [String] = []
    ) async throws {
        func record(
            _ type: String, _ from: String, _ to: String, _ value: String, unit: String = ""
        )
            -> String
        {
            " <Record type=\"HK\(type)\" sourceName=\"Watch\" \(unit) startDate=\"\(from) +0000\" "
                + "endDate=\"\(to) +0000\" value=\"\(value)\"/>\n"
        }
        var text = "<HealthData locale=\"en_GB\">\n"
        for ago in (first..<first + days).reversed() {
            let (day, before) = (Self.day(-ago), Self.day(-ago - 1))
            let sleep = "CategoryTypeIdentifierSleepAnalysis"
            let stage = "HKCategoryValueSleepAnalysisAsleep"
            text += record(sleep, "\(before) 22:00:00", "\(before) 23:30:00", "\(stage)Core")
            text += record(sleep, "\(before) 23:30:00", "\(day) 01:00:00", "\(stage)Deep")
            text += record(
                "QuantityTypeIdentifierStepCount", "\(day) 09:00:00", "\(day) 09:30:00",
                "\(1000 + ago)", unit: "unit=\"count\"")
            for (minute, rate) in [("10", "60.25"), ("11", "71")] {
                text += record(
                    "QuantityTypeIdentifierHeartRate", "\(day) 09:\(minute):00",
                    "\(day) 09:\(minute):00", rate, unit: "unit=\"count/min\"")
            }
            if extraSteps > 0, ago == first {
                text += record(
                    "QuantityTypeIdentifierStepCount", "\(day) 10:00:00", "\(day) 10:30:00",
                    "\(extraSteps)", unit: "unit=\"count\"")
            }
        }
        for name in accounts.isEmpty ? ["export"] : accounts {
            try playground.folder.write("\(name).xml", Array((text + "</HealthData>\n").utf8))
        }
        for job in accounts.isEmpty ? ["import"] : accounts.map({ "\($0)/import" }) {
            let read = try await playground.run("run", job)
            #expect(read.status == 0, "\(read.output) \(read.errors)")
        }
    }
}
