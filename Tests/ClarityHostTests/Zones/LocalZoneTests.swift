import ClarityHost
import Glibc
import Testing

@Suite struct LocalZoneTests {
    @Test(arguments: [
        ("Europe/Berlin", "Europe/Berlin"), (":Europe/Berlin", "Europe/Berlin"), ("", "UTC"),
        (":", "UTC"), ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ])
    func `the environment's zone comes first`(variable: String, zone: String) throws {
        try SampleFiles.withFolder { folder in
            symlink("/usr/share/zoneinfo/Europe/Paris", "\(folder)/localtime")

            let found = LocalZone.identifier(environment: ["TZ": variable], configuration: folder)

            #expect(found == zone)
        }
    }

    @Test(arguments: ["/usr/share/zoneinfo/Europe/Paris", "../usr/share/zoneinfo/Europe/Paris"])
    func `else the zone is where the link of the machine leads`(target: String) throws {
        try SampleFiles.withFolder { folder in
            symlink(target, "\(folder)/localtime")
            try SampleFiles.write("\(folder)/timezone", Array("Asia/Tokyo\n".utf8))

            #expect(
                LocalZone.identifier(environment: [:], configuration: folder) == "Europe/Paris")
        }
    }

    @Test func `else it is the name beside a copy`() throws {
        try SampleFiles.withFolder { folder in
            try SampleFiles.write("\(folder)/localtime", SampleZones.bytes(rule: "JST-9"))
            try SampleFiles.write("\(folder)/timezone", Array("Asia/Tokyo\n".utf8))

            #expect(LocalZone.identifier(environment: [:], configuration: folder) == "Asia/Tokyo")
        }
    }

    @Test func `else it is UTC`() throws {
        try SampleFiles.withFolder { folder in
            #expect(LocalZone.identifier(environment: [:], configuration: folder) == "UTC")
        }
    }
}
