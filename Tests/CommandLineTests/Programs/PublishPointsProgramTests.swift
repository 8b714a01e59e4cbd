import ClarityScheduler
import ClarityTestSupport
import HealthModel
@testable import Platform
@testable import ProgramTestSupport
import Testing

/// Days and nights that a job publishes as points of the line protocol, through the built programs.
@Suite("Days and nights in InfluxDB", .timeLimit(.minutes(5)))
struct PublishPointsProgramTests {
    private func run(
        _ playground: Playground, _ words: String...
    ) async throws -> ProgramResult {
        try await playground.start(
            words.isEmpty ? ["run", "home", "-v"] : words,
            environment: ["HOME_TOKEN": "invented-token"]
        ).finish()
    }

    private func points(_ server: ScriptedServer) throws -> [[Point]] {
        try server.requests.map { request in
            try request.body.split(separator: "\n").map { try Point(line: String($0)) }
        }
    }

    @Test func `points say what metrics and nights say, and a second run sends none`()
        async throws
    {
        let server = try ScriptedServer([.answer(204, ""), .answer(204, "")])
        let person = #"Ada, "A=B" \ö C"#
        let playground = try await PublishedHome.playground(
            "to: influx, url: \"\(server.url)/\", org: at home, bucket: \"h&b\", "
                + "secret: HOME_TOKEN, person: '\(person)'", days: 4)

        let first = try await run(playground)
        let second = try await run(playground)
        try await PublishedHome.read(playground, days: 4, extraSteps: 500)
        let third = try await run(playground)
        let nights = try await playground.json("nights")

        #expect([first, second, third].map(\.status) == [0, 0, 0], "\(first.output)")
        #expect(first.output.contains("4 days published, 4 nights published"), "\(first.output)")
        #expect(third.output.contains("1 day published"), "\(third.output)")
        let requests = server.requests
        try #require(requests.count == 2)
        #expect(requests[0].method == "POST")
        #expect(
            requests[0].target == "/api/v2/write?org=at%20home&bucket=h%26b&precision=s")
        #expect(requests[0].headers["authorization"] == "Token invented-token")
        let points = try points(server)
        #expect(points[0].allSatisfy { $0.tags["person"] == person })
        #expect(Set(points[0].map(\.identity)).count == points[0].count)

        var wanted: [String: [String: Double]] = [:]
        for type in ["heart_rate", "activity", "sleep"] {
            let page = try await playground.json("metrics", type, "--since", "30d")
            for measure in page["measures"].elements {
                for day in measure["days"].elements {
                    let name = "\(measure["measure"].text ?? "") \(day["day"].text ?? "")"
                    wanted[name] = day.doubles
                }
            }
        }
        // The points as the database has them: a corrected one took the place of the former.
        var stored: [String: Point] = [:]
        for point in points.joined() { stored[point.identity] = point }
        let days = stored.values.filter { $0.measurement == "clarity_day" }
        #expect(days.count == wanted.count)
        for point in days {
            let name = "\(point.tags["measure"] ?? "") \(point.date)"
            #expect(point.fields == wanted[name], "\(name)")
            #expect(point.tags["unit"]?.isEmpty == false)
        }
        #expect(days.contains { $0.fields["total"] == 1501 })
        let slept = stored.values.filter { $0.measurement == "clarity_night" }
        #expect(slept.count == nights["rows"].elements.count)
        for night in nights["rows"].elements {
            let point = try #require(slept.first { $0.date == night["night"].text })
            var fields = night.doubles
            for name in ["start", "end"] {
                let instant = try #require(Instant(rfc3339: night[name].text ?? ""))
                fields[name] = Double(instant.secondsSince1970)
            }
            #expect(point.fields == fields)
        }
        // Only the corrected day came again.
        #expect(Set(points[1].map(\.date)) == [PublishedHome.day(-1)])
        #expect(points[1].allSatisfy { point in points[0].contains { $0.isSeries(of: point) } })
    }

    @Test func `a database of InfluxDB 1 gets a user and password, and an outage is retried`()
        async throws
    {
        let server = try ScriptedServer([
            .answer(503, "", then: .close), .answer(204, ""),
        ])
        let playground = try await PublishedHome.playground(
            "to: influx, url: \"\(server.url)\", database: health, username: ada, "
                + "secret: HOME_TOKEN, types: [heart_rate]",
            retry: "retry: { attempts: 2, initial: 10s }")

        let down = try await run(playground)
        let again = try await run(playground, "run", "home", "--force")

        #expect(down.status == 75 && down.errors.contains("tries again at"), "\(down)")
        #expect(again.status == 0, "\(again.output) \(again.errors)")
        #expect(
            server.requests.map(\.target)
                == Array(repeating: "/write?db=health&precision=s", count: 2))
        #expect(Set(server.requests.map(\.body)).count == 1)
        // `ada:invented-token`
        #expect(
            server.requests.last?.headers["authorization"] == "Basic YWRhOmludmVudGVkLXRva2Vu")
    }

    @Test func `a refused token ends with 77, and says nothing that the server said`() async throws
    {
        let server = try ScriptedServer([.answer(401, #"{"message":"MARKER"}"#)])
        let playground = try await PublishedHome.playground(
            "to: influx, url: \"\(server.url)\", database: health, secret: HOME_TOKEN")

        let run = try await run(playground)

        #expect(run.status == 77)
        #expect(
            run.errors.contains(
                "`\(server.url)` answers 401: it refuses the token or password"), "\(run.errors)")
        #expect(!(run.output + run.errors).contains("MARKER"))
    }

    @Test func `a command of a job file finds no secret of a job that publishes`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            notify: [{ kind: command, command: [sh, -c, "env >$0", "\(folder)/notice"] }]
            jobs:
              - { id: home, kind: publish, schedule: { every: 1d }, retry: { attempts: 1 },
                  options: { to: influx, url: "http://127.0.0.1:9", database: d, secret: HOME_TOKEN } }
              - { id: look, kind: command, schedule: { every: 1d }, retry: { attempts: 1 },
                  options: { command: [sh, -c, "env >$0; false", "\(folder)/job"] } }

            """
        }

        _ = try await run(playground, "run", "look")
        _ = try await run(playground, "run", "notify")
        let test = try await run(playground, "notify", "test")

        #expect(test.status == 0)
        for name in ["job", "notice"] {
            let found = String(
                decoding: try TemporaryFolder.read("\(playground.folder.path)/\(name)"),
                as: UTF8.self)
            #expect(found.contains("PATH=") && !found.contains("HOME_TOKEN"), "\(name)")
        }
    }
}

/// A point as a database reads it, by the syntax of the line protocol
/// (https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/).
private struct Point: Hashable {
    struct Fault: Error { let line: String }

    let measurement: String
    let tags: [String: String]
    let fields: [String: Double]
    let time: Int64

    init(line: String) throws {
        let parts = Self.split(line, at: " ").filter { !$0.isEmpty }
        guard parts.count == 3, let time = Int64(parts[2]) else { throw Fault(line: line) }
        let series = Self.split(parts[0], at: ",")
        self.time = time
        measurement = Self.unescaped(series[0])
        tags = try Self.pairs(series.dropFirst(), line) { Self.unescaped($0) }
        fields = try Self.pairs(Self.split(parts[1], at: ",")[...], line) { text in
            // An integer ends with `i`, a float has no ending.
            Double(text.hasSuffix("i") ? String(text.dropLast()) : text)
        }
    }

    /// What a database tells points apart by.
    var identity: String { "\(measurement) \(tags.sorted { $0.key < $1.key }) \(time)" }
    /// The date in UTC.
    var date: String { CivilDay(daysSince1970: Int(time / 86_400)).description }

    func isSeries(of other: Point) -> Bool {
        measurement == other.measurement && tags == other.tags
    }

    private static func pairs<Value>(
        _ texts: ArraySlice<String>, _ line: String, _ value: (String) -> Value?
    ) throws -> [String: Value] {
        var pairs: [String: Value] = [:]
        for text in texts {
            let parts = split(text, at: "=")
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty,
                let value = value(parts[1]), pairs[unescaped(parts[0])] == nil
            else { throw Fault(line: line) }
            pairs[unescaped(parts[0])] = value
        }
        return pairs
    }

    /// Splits at a separator before which there is no backslash.
    private static func split(_ text: String, at separator: Character) -> [String] {
        var parts = [""]
        var isEscaped = false
        for character in text {
            if character == separator, !isEscaped {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
            isEscaped = character == "\\" && !isEscaped
        }
        return parts
    }

    private static func unescaped(_ text: String) -> String {
        var plain = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.first, ",= ".contains(next) { continue }
            plain.append(character)
        }
        return plain
    }
}

extension JSONValue {
    /// The numbers of an object.
    fileprivate var doubles: [String: Double] {
        guard case .object(let members) = self else { return [:] }
        return members.compactMapValues { value in
            switch value {
            case .number(let number): Double(number)
            case .real(let number): number
            default: nil
            }
        }
    }
}
