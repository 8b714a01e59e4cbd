import ClarityScheduler
import Testing

struct TZifReaderTests {
    @Test func `offsets change at the transitions and follow the last without a footer`() throws {
        var file = TZifFile()
        file.offsets = [-75, 3600, 0]
        file.transitions = [(-100, 2), (0, 1), (86_400, 2)]
        file.narrowTimes = 3

        let zone = try file.zone()

        let offsets = [-101, -100, -1, 0, 86_399, 86_400, 4_000_000_000].map {
            zone.offset(at: Instant(secondsSince1970: $0))
        }
        #expect(
            offsets == [-75, 0, 0, 3600, 3600, 0, 0].map { Duration.seconds($0) })
        #expect(zone.identifier == "Test/Zone")
    }

    @Test func `without transitions the footer holds for all time`() throws {
        let zone = try TZifFile(footer: "<+0330>-3:30").zone()

        let offsets = [Int64.min, 0, .max].map {
            zone.offset(at: Instant(millisecondsSince1970: $0))
        }

        #expect(offsets == Array(repeating: .seconds(12_600), count: 3))
    }

    @Test func `every version from 2 on is read`() throws {
        for version in "234".utf8 {
            let zone = try TZifFile(version: version, footer: "EST5").zone()

            #expect(zone.offset(at: Instant(secondsSince1970: 0)) == .seconds(-18_000))
        }
    }

    @Test func `transitions that no instant reaches do no harm`() throws {
        var file = TZifFile()
        file.offsets = [0, 3600, 7200]
        file.transitions = [(.min, 1), (0, 2), (.max, 1)]

        let zone = try file.zone()

        #expect(zone.offset(at: Instant(millisecondsSince1970: .min)) == .seconds(3600))
        #expect(zone.offset(at: Instant(millisecondsSince1970: .max)) == .seconds(7200))
        #expect(
            zone.resolve(CivilTime(1970, 1, 1, 1, 30))
                == .skipped(until: Instant(secondsSince1970: 0)))
    }

    @Test(arguments: [
        (TZifFile(version: 0), "got version byte 0, wanted `2` or later"),
        (TZifFile(version: 0x31), "got version byte 49, wanted `2` or later"),
        (TZifFile(leapSeconds: 1), "got times with leap seconds, wanted times without"),
        (TZifFile(offsets: []), "got 0 types, wanted 1 to 256"),
        (
            TZifFile(offsets: [Int32](repeating: 0, count: 257)),
            "got 257 types, wanted 1 to 256"
        ),
        (TZifFile(utcFlags: 2), "got 2 flags, wanted 0 or 1, one a type"),
        (TZifFile(standardFlags: 3), "got 3 flags, wanted 0 or 1, one a type"),
        (TZifFile(offsets: [.min]), "got offset -2147483648 s, wanted -89999 to 93599"),
        (TZifFile(offsets: [93_600]), "got offset 93600 s, wanted -89999 to 93599"),
        (TZifFile(offsets: [-90_000]), "got offset -90000 s, wanted -89999 to 93599"),
        (TZifFile(transitions: [(5, 0), (5, 0)]), "got transition 5 after 5, wanted rising times"),
        (TZifFile(transitions: [(5, 0), (4, 0)]), "got transition 4 after 5, wanted rising times"),
        (TZifFile(transitions: [(5, 1)]), "got type 1, wanted less than 1"),
        (
            TZifFile(claimedTimes: .max),
            "ends early, wanted 38654705665 bytes from byte 98 on"
        ),
        (TZifFile(claimedTypes: 2), "ends early, wanted 16 bytes from byte 98 on"),
        (TZifFile(footer: "oops"), "rule in the footer, byte 4: wanted hours from 0 to 24"),
    ])
    func `a file that breaks the format is refused`(file: TZifFile, text: String) {
        let error = #expect(throws: ZoneError.self) { try file.zone() }

        #expect(error?.description == "time zone `Test/Zone`: \(text)")
    }

    @Test(arguments: ["", "T", "TZi", "tzif2", "#!/bin/sh"])
    func `a file of another kind is refused`(text: String) {
        let error = #expect(throws: ZoneError.self) {
            try Zone(identifier: "X", tzif: Array(text.utf8))
        }

        #expect(
            error?.description == "time zone `X`: got other bytes, wanted `TZif` at the start")
    }

    @Test func `no newline before the footer is a fault`() throws {
        var bytes = TZifFile(footer: "UTC0").bytes
        bytes[bytes.count - 6] = UInt8(ascii: " ")

        let error = #expect(throws: ZoneError.self) { try Zone(identifier: "X", tzif: bytes) }

        #expect(
            error?.description
                == "time zone `X`: got other bytes, wanted a newline before the footer")
    }

    @Test func `every file that is cut short is refused`() {
        var file = TZifFile(footer: "CET-1CEST,M3.5.0,M10.5.0/3")
        file.offsets = [0, 3600]
        file.transitions = [(0, 1), (7, 0)]
        let bytes = file.bytes

        let accepted = bytes.indices.filter { length in
            (try? Zone(identifier: "X", tzif: Array(bytes[..<length]))) != nil
        }

        #expect(accepted == [])
        #expect(throws: Never.self) { try Zone(identifier: "X", tzif: bytes) }
    }

    @Test(.enabled(if: SystemZones.isInstalled))
    func `every installed file that is cut short is refused`() throws {
        let bytes = try SystemZones.bytes("Europe/London")

        let accepted = bytes.indices.filter { length in
            (try? Zone(identifier: "X", tzif: Array(bytes[..<length]))) != nil
        }

        #expect(accepted == [])
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `damaged files give a zone that answers or an error`(seed: UInt64) {
        var file = TZifFile(footer: "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0")
        file.offsets = [37_800, 39_600]
        file.transitions = [(-1_000_000_000, 0), (0, 1), (1_000_000_000, 0)]
        let whole = file.bytes
        var state = seed
        func random(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        var zones = 0
        var errors = 0

        for _ in 0..<5000 {
            var bytes = whole
            for _ in 0...random(below: 4) {
                bytes[random(below: bytes.count)] = UInt8(random(below: 256))
            }
            if random(below: 10) == 0 { bytes.removeLast(random(below: bytes.count)) }
            do {
                let zone = try Zone(identifier: "X", tzif: bytes)
                for milliseconds in [Int64.min, -5_000_000_000_000, 0, 1_795_154_400_000, .max] {
                    _ = zone.offset(at: Instant(millisecondsSince1970: milliseconds))
                }
                _ = zone.resolve(CivilTime(2026, 10, 4, 2, 15))
                _ = zone.resolve(CivilTime(9999, 12, 31, 23, 59))
                zones += 1
            } catch {
                errors += 1
            }
        }

        // Damage to the first block or to names changes nothing; most other damage is an error.
        #expect(zones > 100, "seed \(seed)")
        #expect(errors > 100, "seed \(seed)")
    }
}
