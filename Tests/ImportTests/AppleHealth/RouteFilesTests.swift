import HealthStore
import ClarityTestSupport
import Glibc
import JSON
import Testing

@testable import Import

@Suite struct RouteFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let document = Array("<HealthData>\(heartRate())</HealthData>".utf8)

    private static func point(_ minute: Int, _ inside: String = "<ele>34.10</ele>") -> String {
        """
        <trkpt lon="13.404954" lat="-52.520008">\(inside)<time>2024-01-21T07:0\(minute):00Z</time>\
        <extensions><speed>2.8</speed><course>91.5</course><hAcc>3</hAcc><vAcc>2</vAcc>\
        </extensions></trkpt>
        """
    }

    private static func file(_ points: String...) -> [UInt8] {
        Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><metadata>\
            <time>2024-01-21T09:00:00Z</time></metadata><trk><name>Route</name><trkseg>
            \(points.joined(separator: "\n"))
            </trkseg></trk></gpx>
            """.utf8)
    }

    private func points(_ text: [UInt8]) -> (points: [RoutePoint], refused: Int64) {
        var points: [RoutePoint] = []
        let refused = RoutePoint.forEach(in: text) { points.append($0) }
        return (points, refused)
    }

    @Test func `a point keeps its place and time and what the watch measured`() throws {
        let found = points(Self.file(Self.point(5)))

        let point = try #require(found.points.first)
        #expect(found.points.count == 1 && found.refused == 0)
        #expect("\(point.time)" == "2024-01-21T07:05:00Z")
        #expect(
            JSON.object(point.members).line == #"{"lat":"-52.520008","lon":"13.404954","#
                + #""ele":"34.10","speed":"2.8","course":"91.5","hAcc":"3","vAcc":"2"}"#)
    }

    @Test func `a point without a place or a time is counted, and the others are read`() {
        let found = points(
            Self.file(
                Self.point(1).replacing("<time>2024-01-21T07:01:00Z</time>", with: ""),
                Self.point(2).replacing(#"lat="-52.520008""#, with: #"lat="north""#),
                #"<trkpt lat="1" lon="2"/>"#, Self.point(3, "")))

        #expect(found.points.map { "\($0.time)" } == ["2024-01-21T07:03:00Z"])
        #expect(found.refused == 3)
    }

    @Test func `a file that breaks off gives the points before`() {
        let text = Self.file(Self.point(1), Self.point(2))
        let whole = text.count
        for length in stride(from: whole, to: 0, by: -7) {
            let found = points(Array(text.prefix(length)))
            #expect(found.points.count + Int(found.refused) <= 2)
        }
        #expect(points(text).points.count == 2)
    }

    /// Reads an export and returns the report, and the points by the name of their file.
    private func read(_ path: String) throws -> (report: SourceReport, files: [String: Int]) {
        let report = try AppleHealthExport(path: path, now: readingTime).read { _, _ in }
        var files: [String: Int] = [:]
        try ExportFiles(place: SourcePlace(path)).forEach { _, name, text in
            files[name] = try? points(text.get()).points.count
            if case .failure = text { files[name] = -1 }
        }
        return (report, files)
    }

    @Test func `routes are read from the archive, in front of the export and behind it`() throws {
        let path = try folder.write(
            "export.zip",
            ZipWriter.archive([
                .init("apple_health_export/workout-routes/a.gpx", Self.file(Self.point(1))),
                .init("apple_health_export/export.xml", Self.document),
                .init(
                    "apple_health_export/workout-routes/b.gpx",
                    Self.file(Self.point(1), Self.point(2))),
                .init("apple_health_export/workout-routes/c.gpx", Self.file(), isCorrupt: true),
            ]))

        let (report, files) = try read(path)

        #expect(
            files == [
                "/workout-routes/a.gpx": 1, "/workout-routes/b.gpx": 2, "/workout-routes/c.gpx": -1,
            ])
        #expect(report.elements["WorkoutRoutePoint"] == 3)
        #expect(report.elementsRefused == ["WorkoutRoute": 1])
        #expect(report.recordsRead == 1 && report.records?.count == 4)
    }

    @Test func `routes are read from the folder of the export`() throws {
        #expect(mkdir("\(folder.path)/workout-routes", 0o700) == 0)
        _ = try folder.write("export.xml", Self.document)
        _ = try folder.write("workout-routes/a.gpx", Self.file(Self.point(1), Self.point(2)))

        let (report, files) = try read(folder.path)

        #expect(files == ["/workout-routes/a.gpx": 2])
        #expect(report.records?.count == 3)
    }
}
