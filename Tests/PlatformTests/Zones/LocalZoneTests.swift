import Platform
import ClarityTestSupport
import Glibc
import Testing

@Suite struct LocalZoneTests {
    private let temporary: TemporaryFolder
    private var folder: String { temporary.path }

    init() throws { temporary = try TemporaryFolder() }

    @Test(arguments: [
        ("Europe/Berlin", "Europe/Berlin"), (":Europe/Berlin", "Europe/Berlin"), ("", "UTC"),
        (":", "UTC"), ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ])
    func `the environment's zone comes first`(variable: String, zone: String) throws {
        symlink("/usr/share/zoneinfo/Europe/Paris", "\(folder)/localtime")

        let found = LocalZone.identifier(environment: ["TZ": variable], configuration: folder)

        #expect(found == zone)
    }

    @Test(arguments: ["/usr/share/zoneinfo/Europe/Paris", "../usr/share/zoneinfo/Europe/Paris"])
    func `else the zone is where the link of the machine leads`(target: String) throws {
        symlink(target, "\(folder)/localtime")
        try temporary.write("timezone", Array("Asia/Tokyo\n".utf8))

        #expect(
            LocalZone.identifier(environment: [:], configuration: folder) == "Europe/Paris")
    }

    /// Makes zones of these rules, and a copy of one as the machine's own.
    private func zones(_ rules: [String: String], local: String) throws -> String {
        for (name, rule) in rules {
            let parts = name.split(separator: "/").dropLast()
            for length in 0...parts.count {
                mkdir("\(folder)/zones/\(parts.prefix(length).joined(separator: "/"))", 0o700)
            }
            try temporary.write("zones/\(name)", Array("TZif2 \(rule)".utf8))
        }
        try temporary.write("localtime", Array("TZif2 \(local)".utf8))
        return LocalZone.identifier(
            environment: ["TZDIR": "\(folder)/zones"], configuration: folder)
    }

    @Test func `else a plain file is the zone with the same bytes`() throws {
        let rules = [
            "Asia/Tokyo": "JST", "Asia/Seoul": "KST", "Arctic/Longyearbyen": "CET",
            "Europe/Berlin": "CET", "Europe/Stockholm": "CET", "America/Argentina/Salta": "-03",
            "Etc/UCT": "UTC", "UTC": "UTC", "posix/Asia/Tokyo": "JST", "posixrules": "EST",
            "America/New_York": "EST", "localtime": "KST",
        ]
        mkdir("\(folder)/zones", 0o700)
        try temporary.write(
            "zones/zone1970.tab",
            Array("# a comment\nDE,DK,NO,SE,SJ\t+5230+01322\tEurope/Berlin\tmost of it\n".utf8))

        #expect(try zones(rules, local: "JST") == "Asia/Tokyo")
        #expect(try zones(rules, local: "KST") == "Asia/Seoul")
        #expect(try zones(rules, local: "CET") == "Europe/Berlin")
        #expect(try zones(rules, local: "-03") == "America/Argentina/Salta")
        #expect(try zones(rules, local: "EST") == "America/New_York")
        #expect(try zones(rules, local: "UTC") == "UTC")

        try temporary.write("timezone", Array("Europe/Stockholm\n".utf8))
        #expect(try zones(rules, local: "CET") == "Europe/Stockholm")
        #expect(try zones(rules, local: "JST") == "Asia/Tokyo")
    }

    @Test func `a plain file that equals no zone is no zone, and never UTC`() throws {
        try temporary.write("timezone", Array("Asia/Tokyo\n".utf8))

        #expect(try zones(["Asia/Tokyo": "JST"], local: "other") == "\(folder)/localtime")

        unlink("\(folder)/localtime")
        mkdir("\(folder)/localtime", 0o700)
        #expect(
            LocalZone.identifier(environment: [:], configuration: folder)
                == "\(folder)/localtime")
    }

    @Test func `a link to a copy elsewhere is read as the copy`() throws {
        _ = try zones(["Asia/Tokyo": "JST"], local: "JST")
        rename("\(folder)/localtime", "\(folder)/copy")
        symlink("copy", "\(folder)/localtime")

        #expect(
            LocalZone.identifier(
                environment: ["TZDIR": "\(folder)/zones"], configuration: folder) == "Asia/Tokyo")
    }

    @Test func `else it is the name in a file of its own`() throws {
        try temporary.write("timezone", Array("Asia/Tokyo\n".utf8))

        #expect(LocalZone.identifier(environment: [:], configuration: folder) == "Asia/Tokyo")
    }

    @Test func `else it is UTC`() throws {
        #expect(LocalZone.identifier(environment: [:], configuration: folder) == "UTC")
    }
}
