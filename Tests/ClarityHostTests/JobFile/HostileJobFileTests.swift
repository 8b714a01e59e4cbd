import ClarityHost
import ClarityScheduler
import Testing

@Suite struct HostileJobFileTests {
    /// The generator SplitMix64, which is small and gives the same numbers for the same seed
    /// everywhere.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static let pieces = [
        "[", "]", "{", "}", ": ", "- ", "? ", "\n", "\t", "  ", "'", "\"", "|", ">", "&a ", "*a",
        "!!", "---\n", "...\n", "%YAML 1.1\n", "#", "\\0", "~", "then: [a]", "\u{FEFF}", "é", "on:",
        "99999999999999999999", "a: &a [*a]", "<<: ", "schedule: ", "every", "id: ", "check: ",
        "window: ",
        "checks:", "{ ~: 1MiB }",
    ]

    /// Changes bytes, or inserts, removes or repeats pieces, one to four times.
    private static func mutate(_ bytes: [UInt8], with generator: inout Generator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let place = Int.random(in: 0...bytes.count, using: &generator)
            let end = min(bytes.count, place + Int.random(in: 0...40, using: &generator))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                let piece = pieces[Int.random(in: 0..<pieces.count, using: &generator)]
                bytes.insert(contentsOf: piece.utf8, at: place)
            case 1:
                bytes.removeSubrange(place..<end)
            case 2:
                bytes.insert(contentsOf: bytes[place..<end], at: place)
            default:
                if place < bytes.count {
                    bytes[place] = UInt8.random(in: 0...255, using: &generator)
                }
            }
        }
        return bytes
    }

    @Test(arguments: [1, 20_261_121, 0xC1A2_17BB] as [UInt64])
    func `a job file damaged at random is read or refused with places in it`(seed: UInt64) {
        let whole = Array(
            JobFileSamples.file(
                job: """
                    schedule: { cron: "0 6,18 * * *", time_zone: Europe/London }
                    on: [source-changed]
                    constraints: { network: any, battery_above: 20%, check: [up, nas],
                                   window: ["Mon..Fri 22:00-06:00"], unknown: { idle: wait },
                                   storage_free: { ~/Health: 2GiB } }
                    retry: { attempts: 5, initial: 30s }
                    then: [b]
                    """,
                top: """
                      - { id: b, kind: cleanup, options: { retain: 30d } }
                    sources: [{ kind: spool, path: ~/inbox }]
                    defaults: { timeout: 5m, memory_limit: 64MiB }
                    conditions: { interfaces: { "wwan*": metered }, idle: { load_below: 25% } }
                    checks: { up: { url: "http://127.0.0.1:1/" }, nas: { command: [true, x] } }
                    """
            ).utf8)
        var generator = Generator(state: seed)
        let reader = JobFileSamples.reader()
        var (read, refused) = (0, 0)

        for round in 0..<1500 {
            let bytes = Self.mutate(whole, with: &generator)
            do throws(JobFileFaults) {
                let now = Instant(secondsSince1970: 1_795_176_000)
                _ = try reader.read(bytes, path: "jobs.yaml", warningAt: now)
                read += 1
            } catch {
                refused += 1
                let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
                #expect(!error.faults.isEmpty, "round \(round) of seed \(seed)")
                for fault in error.faults {
                    #expect(
                        (0...lines).contains(fault.line)
                            && (fault.line == 0) == (fault.column == 0),
                        "round \(round) of seed \(seed): \(fault)")
                    #expect(!fault.message.contains("\n"), "round \(round) of seed \(seed)")
                }
            }
        }

        print("seed \(seed): \(read) read, \(refused) refused")
        #expect(read > 0 && refused > 0)
    }

    @Test func `a file of nothing but faults is answered in full`() {
        var text = "version: 1\nbackend: { url: 'https://clarity.example' }\njobs:\n"
        for number in 0..<9000 {
            text +=
                "  - { id: job-\(number), kind: cleanup, then: [jab-\(number)], x\(number): 1 }\n"
        }

        let faults = JobFileSamples.faults(text)

        #expect(faults.count == 18_000)
    }
}
