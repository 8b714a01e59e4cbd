import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Testing

@Suite struct SystemZonesTests {
    private let temporary: TemporaryFolder
    private var folder: String { temporary.path }

    init() throws { temporary = try TemporaryFolder() }

    @Test func `a zone is read from the folder that the environment names`() throws {
        let bytes = Array("TZif2 and a zone's rules".utf8)
        mkdir("\(folder)/Etc", 0o700)
        try temporary.write("Etc/GMT+1", bytes)

        let zones = SystemZones(environment: ["TZDIR": folder])

        #expect(zones.tzif(for: "Etc/GMT+1") == bytes)
        #expect(zones.tzif(for: "Etc/GMT+2") == nil)
    }

    @Test(arguments: [
        "../secret", "Etc/../../secret", "/etc/localtime", "", "Etc/", "Etc//Zone", ".", "Zone.tab",
        "Zone\0", "Zone\n", "Zöne", String(repeating: "a", count: 101),
    ])
    func `a name that could lead out of the folder is no zone`(name: String) throws {
        let zoneFolder = "\(folder)/zoneinfo"
        mkdir(zoneFolder, 0o700)
        mkdir("\(zoneFolder)/Etc", 0o700)
        let bytes = Array("TZif2 and a zone's rules".utf8)
        for name in ["secret", "zoneinfo/Zone.tab", "zoneinfo/Etc/Zone"] {
            try temporary.write(name, bytes)
        }

        let zones = SystemZones(environment: ["TZDIR": zoneFolder])

        #expect(zones.tzif(for: name) == nil)
    }

    @Test func `what is no TZif file of a zone's size is no zone`() throws {
        let bytes = Array("TZif2 and a zone's rules".utf8)
        let room = SystemZones.largestFileBytes - bytes.count
        let full = bytes + [UInt8](repeating: 0, count: room)
        try temporary.write("Full", full)
        try temporary.write("Larger", full + [0])
        try temporary.write("Text", Array("hello".utf8))
        mkdir("\(folder)/Folder", 0o700)
        mkfifo("\(folder)/Pipe", 0o600)

        let zones = SystemZones(environment: ["TZDIR": folder])

        #expect(zones.tzif(for: "Full")?.count == 65_536)
        #expect(zones.tzif(for: "Larger") == nil)
        #expect(zones.tzif(for: "Text") == nil)
        #expect(zones.tzif(for: "Folder") == nil)
        #expect(zones.tzif(for: "Pipe") == nil)
    }

    @Test(arguments: [[:], ["TZDIR": "relative"], ["TZDIR": ""]])
    func `without a folder in the environment the machine's zones are there`(
        environment: [String: String]
    ) {
        let zones = SystemZones(environment: environment)

        #expect(zones.tzif(for: "Europe/London")?.starts(with: Array("TZif".utf8)) == true)
    }

    @Test(arguments: [("Europe/London", 3600), ("UTC", 0)])
    func `a zone that is installed tells its offset`(name: String, seconds: Int) throws {
        let zone = try #require(SystemZones(environment: [:]).zone(named: name))

        #expect(zone.identifier == name)
        #expect(zone.offset(at: Instant(secondsSince1970: 1_780_000_000)) == .seconds(seconds))
    }

    @Test func `a file that is no whole zone is none`() throws {
        try temporary.write("Half", Array("TZif2".utf8))

        let zones = SystemZones(environment: ["TZDIR": folder])

        #expect(zones.zone(named: "Half") == nil)
        #expect(zones.zone(named: "Missing") == nil)
    }
}
