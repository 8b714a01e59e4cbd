import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

/// Pushes of Health Auto Export that repeat and correct each other, judged by what the sandbox got.
@Suite("Points that are pushed again", .timeLimit(.minutes(5)))
struct PushedPointsProgramTests {
    private typealias Point = (date: String, fields: String)

    private func playground(_ zone: String) async throws -> Playground {
        let playground = try await Playground { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "  - kind: apple-health-export\n    path: \(folder)/export.xml\n",
                with: "  - kind: health-auto-export\n    path: \(folder)/pushes\n"
                    + "    time_zone: \(zone)\n")
        }
        #expect(mkdir("\(playground.folder.path)/pushes", 0o700) == 0)
        try await playground.logIn()
        return playground
    }

    private func metric(_ name: String, _ unit: String, _ points: [Point]) -> String {
        let points = points.map { "{\"date\":\"\($0.date)\",\($0.fields)}" }
        return "{\"name\":\"\(name)\",\"units\":\"\(unit)\",\"data\":["
            + points.joined(separator: ",") + "]}"
    }

    private func push(_ name: String, _ metrics: [String], to playground: Playground) throws {
        let text = "{\"data\":{\"metrics\":[" + metrics.joined(separator: ",") + "]}}"
        try playground.folder.write("pushes/\(name).json", Array(text.utf8))
    }

    private func upload(_ playground: Playground) async throws -> [String] {
        let result = try await playground.run("run", "upload", "--force")
        #expect(result.status == 0, "\(result)")
        return try playground.sentPoints()
    }

    /// The hours of one morning, as a push sends them.
    private func morning(
        _ source: String, steps: [Double], kilometres: [Double], rates: [Double],
        of rateSource: String
    ) -> [String] {
        func points(_ values: [Double], _ field: (Double) -> String) -> [Point] {
            values.enumerated().map { hour, value in
                ("2024-11-25 \(hour < 2 ? "0" : "")\(8 + hour):00:00 +0100", field(value))
            }
        }
        return [
            metric(
                "step_count", "count", points(steps) { "\"qty\":\($0),\"source\":\"\(source)\"" }),
            metric(
                "walking_running_distance", "km",
                points(kilometres) { "\"qty\":\($0),\"source\":\"\(source)\"" }),
            metric(
                "heart_rate", "count/min",
                points(rates) {
                    "\"Min\":60,\"Avg\":\($0),\"Max\":99,\"source\":\"\(rateSource)\""
                }),
        ]
    }

    @Test func `control characters in a name shift no column and steer no terminal`() async throws {
        let playground = try await playground("Europe/Berlin")
        let source = #""source":"Anna\u0000x\u001b[2J\u0085\u202ewatch""#
        let points: [Point] = [("2024-11-25 08:00:00 +0100", "\"qty\":7,\(source)")]
        try push("1", [metric("step_count", "count", points)], to: playground)
        _ = try await upload(playground)
        let folder = "\(playground.folder.path)/records"

        let exported = try await playground.run("export-data", "--out", folder)
        let python = try ChildProgram(
            "/usr/bin/python3",
            [
                "-c",
                """
                import csv, glob, json, sys
                print(json.dumps([[row['source'], row['unit'], row['value']]
                    for name in sorted(glob.glob(sys.argv[1] + '/**/*.csv', recursive=True))
                    for row in csv.DictReader(open(name, newline='', encoding='utf-8'))]), end='')
                """,
                folder,
            ], environment: ["PATH": "/usr/bin:/bin"])
        let columns = await python.finish().output

        #expect(exported.status == 0, "\(exported.errors)")
        #expect(columns == #"[["Anna x [2J \u202ewatch", "count", "7"]]"#)
    }

    @Test func `a later push replaces a point, whatever names its source has`() async throws {
        let playground = try await playground("Europe/Berlin")
        let pushes = [
            morning(
                "Anna’s Apple Watch", steps: [1200, 300], kilometres: [1.5661734416503, 0.25],
                rates: [72.4, 80], of: "Anna’s Apple Watch"),
            morning(
                "Anna’s Apple Watch", steps: [1200.0000000000002, 300],
                kilometres: [1.5661734416503004, 0.25], rates: [72.4, 80],
                of: "Anna’s Apple Watch"),
            morning(
                "Anna’s Apple Watch|Anna’s iPhone", steps: [2000, 450, 500],
                kilometres: [2.1, 0.4, 0.5], rates: [75, 81], of: "Anna’s Apple Watch|Strap"),
            morning(
                "Anna’s iPhone|Anna’s Apple Watch", steps: [2100, 450, 500],
                kilometres: [2.2, 0.4, 0.5], rates: [76, 81], of: "Strap|Anna’s Apple Watch"),
        ]
        let first = [
            "day 2024-11-24T23:00:00Z 1500 1.816",
            "rate 2024-11-25T07:00:00Z 72.4", "rate 2024-11-25T08:00:00Z 80.0",
        ]
        let third =
            first + [
                "day 2024-11-24T23:00:00Z 2950 3.0",
                "rate 2024-11-25T07:00:00Z 75.0", "rate 2024-11-25T08:00:00Z 81.0",
            ]
        let fourth =
            third + ["day 2024-11-24T23:00:00Z 3050 3.1", "rate 2024-11-25T07:00:00Z 76.0"]

        for (number, expected) in [first, first, third, fourth].enumerated() {
            try push("\(number + 1)", pushes[number], to: playground)
            let sent = try await upload(playground)
            #expect(sent.sorted() == expected.sorted(), "push \(number + 1)")
        }
        let audit = try await playground.run("audit")

        #expect(audit.status == 0, "\(audit)")
    }

    @Test func `of pushes that wait together only the last value of a point is sent`() async throws
    {
        let playground = try await playground("Europe/Berlin")
        for (number, rate) in [72.4, 75, 76].enumerated() {
            let source = ["Watch", "Watch|Strap", "Strap|Watch"][number]
            try push(
                "\(number)",
                morning(source, steps: [100], kilometres: [1], rates: [rate], of: source),
                to: playground)
        }

        let sent = try await upload(playground)

        #expect(
            sent.sorted() == [
                "day 2024-11-24T23:00:00Z 100 1.0", "rate 2024-11-25T07:00:00Z 76.0",
            ])
    }

    /// In 2024 the clocks of Santiago go from 2024-09-07 24:00 to 2024-09-08 01:00.
    private var daysWithoutMidnight: [String] {
        let dates = [
            "2024-09-06 00:00:00 -0400", "2024-09-07 00:00:00 -0400", "2024-09-08 01:00:00 -0300",
            "2024-09-09 00:00:00 -0300",
        ]
        return [
            metric(
                "step_count", "count",
                zip(dates, [4000, 5000, 6000, 7000]).map { ($0, "\"qty\":\($1)") }),
            metric(
                "heart_rate", "count/min",
                zip(dates, [63, 64, 65, 66]).map { ($0, "\"Min\":50,\"Avg\":\($1),\"Max\":120") }),
        ]
    }

    /// Writes an export with a quarter of each day's steps at four times of the day.
    private func writeExport(_ playground: Playground) throws -> String {
        var text = "<HealthData><ExportDate value=\"2024-09-11 09:00:00 -0300\"/>"
        for (day, steps) in [("06", 1000), ("07", 1250), ("08", 1500), ("09", 1750)] {
            for hour in ["09", "12", "15", "18"] {
                let offset = day < "08" ? "-0400" : "-0300"
                text += """
                    <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Phone" \
                    unit="count" startDate="2024-09-\(day) \(hour):00:00 \(offset)" \
                    endDate="2024-09-\(day) \(hour):30:00 \(offset)" value="\(steps)"/>
                    """
            }
        }
        return try playground.folder.write("export.xml", Array("\(text)</HealthData>".utf8))
    }

    @Test(arguments: [true, false])
    func `a day that begins at 01:00 is a day, beside an export in either order`(
        isExportFirst: Bool
    ) async throws {
        let playground = try await playground("America/Santiago")
        let export = try writeExport(playground)
        let days = [
            "day 2024-09-06T04:00:00Z 4000 -", "day 2024-09-07T04:00:00Z 5000 -",
            "day 2024-09-08T04:00:00Z 6000 -", "day 2024-09-09T03:00:00Z 7000 -",
        ]
        let rates = [
            "rate 2024-09-06T04:00:00Z+86400 63.0", "rate 2024-09-07T04:00:00Z+86400 64.0",
            "rate 2024-09-08T04:00:00Z+82800 65.0", "rate 2024-09-09T03:00:00Z+86400 66.0",
        ]

        for isExport in [isExportFirst, !isExportFirst] {
            if isExport {
                let result = try await playground.run(
                    "import", export, "--time-zone", "America/Santiago", "-q")
                #expect(result.status == 0, "\(result)")
            } else {
                try push("1", daysWithoutMidnight, to: playground)
            }
            _ = try await upload(playground)
        }

        #expect(try playground.sentPoints().sorted() == days + rates)
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [2, 0, 1], [0, 2, 1]])
    func `the first hour of a day does not stay the whole day`(order: [Int]) async throws {
        let playground = try await playground("Europe/Berlin")
        let hours: [Point] = [("2024-11-26 00:00:00 +0100", "\"qty\":120")]
        let night = hours + [("2024-11-26 01:00:00 +0100", "\"qty\":10")]
        let day =
            night
            + (8...21).map { hour in
                ("2024-11-26 \(hour < 10 ? "0" : "")\(hour):00:00 +0100", "\"qty\":400")
            }
        let pushes = [hours, night, day]
        var sent: [String] = []

        for number in order {
            try push("\(number)", [metric("step_count", "count", pushes[number])], to: playground)
            sent = try await upload(playground)
        }

        let values = [120, 130, 5730]
        var expected: [String] = []
        for (place, number) in order.enumerated() {
            guard order[..<place].allSatisfy({ $0 < number }) else { continue }
            expected.append("day 2024-11-25T23:00:00Z \(values[number]) -")
        }
        #expect(sent == expected)
    }
}

extension Playground {
    /// Returns the days and heart rates in the sandbox's own file, in the order of their arrival,
    /// such as `day 2024-11-24T23:00:00Z 1500 1.816`.
    fileprivate func sentPoints() throws -> [String] {
        try FileConnection(path: "\(folder.path)/sandbox/sandbox.db", access: .readOnly).all(
            """
            SELECT body ->> '$.metadata.start_date', body ->> '$.activity_data.steps',
                round(body ->> '$.activity_data.distance', 3),
                body ->> '$.biometric_data.heart_rate',
                unixepoch(body ->> '$.metadata.end_date')
                    - unixepoch(body ->> '$.metadata.start_date')
            FROM metrics WHERE body ->> '$.metadata.start_date' IS NOT NULL
            ORDER BY created_at_ms, sequence
            """
        ) { row in
            let start = row.text(0)
            guard row.isNull(3) else {
                let length = row.integer(4) == 0 ? "" : "+\(row.integer(4))"
                return "rate \(start)\(length) \(row.real(3))"
            }
            return "day \(start) \(row.integer(1)) \(row.isNull(2) ? "-" : "\(row.real(2))")"
        }
    }
}
