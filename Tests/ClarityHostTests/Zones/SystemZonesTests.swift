import ClarityHost
import Glibc
import Testing

@Suite struct SystemZonesTests {
    @Test func `a zone is read from the folder that the environment names`() throws {
        try SampleFiles.withFolder { folder in
            let bytes = SampleZones.bytes(rule: "UTC0")
            mkdir("\(folder)/Etc", 0o700)
            try SampleFiles.write("\(folder)/Etc/GMT+1", bytes)

            let zones = SystemZones(environment: ["TZDIR": folder])

            #expect(zones.tzif(for: "Etc/GMT+1") == bytes)
            #expect(zones.tzif(for: "Etc/GMT+2") == nil)
        }
    }

    @Test(arguments: [
        "../secret", "Etc/../../secret", "/etc/localtime", "", "Etc/", "Etc//Zone", ".", "Zone.tab",
        "Zone\0", "Zone\n", "Zöne", String(repeating: "a", count: 101),
    ])
    func `a name that could lead out of the folder is no zone`(name: String) throws {
        try SampleFiles.withFolder { folder in
            let zoneFolder = "\(folder)/zoneinfo"
            mkdir(zoneFolder, 0o700)
            mkdir("\(zoneFolder)/Etc", 0o700)
            let bytes = SampleZones.bytes(rule: "UTC0")
            for path in ["\(folder)/secret", "\(zoneFolder)/Zone.tab", "\(zoneFolder)/Etc/Zone"] {
                try SampleFiles.write(path, bytes)
            }

            let zones = SystemZones(environment: ["TZDIR": zoneFolder])

            #expect(zones.tzif(for: name) == nil)
        }
    }

    @Test func `what is no TZif file of a zone's size is no zone`() throws {
        try SampleFiles.withFolder { folder in
            let bytes = SampleZones.bytes(rule: "UTC0")
            let room = SystemZones.largestFileBytes - bytes.count
            let full = bytes + [UInt8](repeating: 0, count: room)
            try SampleFiles.write("\(folder)/Full", full)
            try SampleFiles.write("\(folder)/Larger", full + [0])
            try SampleFiles.write("\(folder)/Text", Array("hello".utf8))
            mkdir("\(folder)/Folder", 0o700)
            mkfifo("\(folder)/Pipe", 0o600)

            let zones = SystemZones(environment: ["TZDIR": folder])

            #expect(zones.tzif(for: "Full")?.count == 65_536)
            #expect(zones.tzif(for: "Larger") == nil)
            #expect(zones.tzif(for: "Text") == nil)
            #expect(zones.tzif(for: "Folder") == nil)
            #expect(zones.tzif(for: "Pipe") == nil)
        }
    }

    @Test(arguments: [[:], ["TZDIR": "relative"], ["TZDIR": ""]])
    func `without a folder in the environment the machine's zones are there`(
        environment: [String: String]
    ) {
        let zones = SystemZones(environment: environment)

        #expect(zones.tzif(for: "Europe/London")?.starts(with: Array("TZif".utf8)) == true)
    }
}
