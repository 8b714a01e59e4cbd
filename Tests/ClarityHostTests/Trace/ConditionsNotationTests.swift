import ClarityHost
import ClarityScheduler
import JSON
import Testing

@Suite("Conditions as JSON")
struct ConditionsNotationTests {
    private let laptop = Conditions(
        connected: .init(true, source: "/proc/net/route"), metered: .unknown("nobody is asked"),
        roaming: .init(false, source: "r"), externalPower: .init(false, source: "p"),
        battery: .init(.charge(percent: 80), source: "b"), lowPower: .init(true, source: "l"),
        idle: .unknown("no login manager"), storageFreeBytes: .init(1 << 30, source: "/home"),
        pressurePercent: .init(3, source: "/proc/pressure/io"))

    private let written = """
        {"connected":true,"metered":null,"roaming":false,"external_power":false,"battery":80,\
        "low_power":true,"idle":null,"storage_free_bytes":1073741824,"pressure_percent":3,\
        "sources":{"connected":"/proc/net/route","metered":"nobody is asked","roaming":"r",\
        "external_power":"p","battery":"b","low_power":"l","idle":"no login manager",\
        "storage_free_bytes":"/home","pressure_percent":"/proc/pressure/io"}}
        """

    @Test func `every condition is written with its source`() {
        #expect(JSON.object(ConditionsNotation.members(laptop)).line == written)
    }

    @Test func `what is written is read as it was`() throws {
        #expect(try read(written) == laptop)
    }

    @Test func `only values that changed are written, with their sources`() {
        var later = laptop
        later.battery = .init(.absent, source: "none")
        later.idle = .unknown("another reason")
        later.connected.source = "elsewhere"

        let members = ConditionsNotation.members(later, since: laptop)

        #expect(
            JSON.object(members).line == #"{"battery":"absent","sources":{"battery":"none"}}"#)
        #expect(ConditionsNotation.members(laptop, since: laptop) == [])
    }

    @Test func `what the job file names stands with the rest, and times where they differ`() throws
    {
        let house = Conditions(
            metered: .init(true, source: "n", at: Instant(secondsSince1970: 60)),
            idle: .init(true, source: "load", isSampled: true),
            storage: ["/mnt/nas": .init(5, source: "/mnt/nas")],
            checks: [
                "vpn": .init(false, source: "exit 1", at: Instant(secondsSince1970: 0)),
                "nas": .unknown("no answer within 10s"),
            ])
        let written = """
            {"metered":true,"idle":true,"storage./mnt/nas":5,"checks.vpn":false,\
            "sources":{"metered":"n","idle":"load","storage./mnt/nas":"/mnt/nas",\
            "checks.vpn":"exit 1"},"times":{"metered":"1970-01-01T00:01:00Z",\
            "checks.vpn":"1970-01-01T00:00:00Z"},"sampled":["idle"]}
            """

        let members = ConditionsNotation.members(house, since: Conditions())

        #expect(JSON.object(members).line == written)
        let all = JSON.object(ConditionsNotation.members(house)).line
        #expect(try read(all) == house)
    }

    @Test func `what is not named stays, and a value without source has the one given`() throws {
        let read = try read(
            #"{"connected":false,"battery":null,"sources":{"battery":"pulled","idle":"why"}}"#,
            onto: laptop)

        var wanted = laptop
        wanted.connected = .init(false, source: "here")
        wanted.battery = .unknown("pulled")
        wanted.idle.source = "why"
        #expect(read == wanted)
    }

    @Test(arguments: [
        (#"{"battery":"absent"}"#, Conditions.Battery.absent),
        (#"{"battery":0}"#, .charge(percent: 0)),
        (#"{"battery":100}"#, .charge(percent: 100)), (#"{"battery":null}"#, nil),
    ])
    func `a battery is absent, a charge or unknown`(
        text: String, battery: Conditions.Battery?
    ) throws {
        #expect(try read(text).battery.value == battery)
    }

    @Test(arguments: [
        (#"{"conected":true}"#, "unknown name `conected`; did you mean `connected`?"),
        (#"{"weather":"fine"}"#, "unknown name `weather`"),
        (#"{"sources":{"batery":"x"}}"#, "unknown name `batery`; did you mean `battery`?"),
        (#"{"sources":{"sources":"x"}}"#, "unknown name `sources`"),
        (#"{"idle":true,"idle":false}"#, "`idle` stands twice"),
        (#"{"sources":{"idle":"a","idle":"b"}}"#, "`sources.idle` stands twice"),
        (#"{"idle":"yes"}"#, #"`idle` is `"yes"`, wanted true, false or null"#),
        (#"{"connected":1}"#, "`connected` is `1`, wanted true, false or null"),
        (
            #"{"battery":101}"#,
            #"`battery` is `101`, wanted a whole number of 0 to 100, "absent" or null"#
        ),
        (
            #"{"battery":"full"}"#,
            #"`battery` is `"full"`, wanted a whole number of 0 to 100, "absent" or null"#
        ),
        (
            #"{"pressure_percent":2.5}"#,
            "`pressure_percent` is `2.5`, wanted a whole number of 0 to 100 or null"
        ),
        (
            #"{"storage_free_bytes":-1}"#,
            "`storage_free_bytes` is `-1`, wanted a whole number of 0 or more or null"
        ),
        (#"{"times":[]}"#, "`times` is `[]`, wanted an object"),
        (
            #"{"times":{"idle":"noon"}}"#,
            #"`times.idle` is `"noon"`, wanted a time such as "2026-11-20T06:00:00Z""#
        ),
        (#"{"sampled":"idle"}"#, #"`sampled` is `"idle"`, wanted an array"#),
        (#"{"sampled":[1]}"#, "`sampled` is `1`, wanted names of conditions"),
        (#"{"checks.vpn":1}"#, "`checks.vpn` is `1`, wanted true, false or null"),
        (
            #"{"storage./":true}"#,
            "`storage./` is `true`, wanted a whole number of 0 or more or null"
        ),
        (#"{"sources":[]}"#, "`sources` is `[]`, wanted an object"),
        (#"{"sources":{"idle":3}}"#, "`sources.idle` is `3`, wanted a string"),
    ])
    func `a value that is no condition is refused with what was wanted`(
        text: String, message: String
    ) {
        let fault = #expect(throws: NotationFault.self) { try read(text) }

        #expect(fault?.description == message)
    }

    private func read(_ text: String, onto earlier: Conditions = Conditions()) throws -> Conditions
    {
        guard case .object(let members) = try JSONParser.parse(Array(text.utf8)) else {
            throw NotationFault.noObject(got: text)
        }
        return try ConditionsNotation.read(members, onto: earlier, source: "here")
    }
}
