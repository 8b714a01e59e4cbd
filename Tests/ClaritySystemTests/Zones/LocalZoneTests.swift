import ClaritySystem
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

    @Test func `else it is the name beside a copy`() throws {
        try temporary.write("localtime", Array("TZif2".utf8))
        try temporary.write("timezone", Array("Asia/Tokyo\n".utf8))

        #expect(LocalZone.identifier(environment: [:], configuration: folder) == "Asia/Tokyo")
    }

    @Test func `else it is UTC`() throws {
        #expect(LocalZone.identifier(environment: [:], configuration: folder) == "UTC")
    }
}
