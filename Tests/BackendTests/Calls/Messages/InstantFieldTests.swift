import ClarityScheduler
import JSON
import Testing

@testable import Backend
@testable import BackendContract

struct InstantFieldTests {
    @Test func `an instant is written as it describes itself`() {
        let instants = [
            Instant(millisecondsSince1970: 0), Instant(millisecondsSince1970: 1_795_158_000_123),
            Instant(millisecondsSince1970: -62_198_755_200_000),
            Instant(millisecondsSince1970: 253_402_300_800_000),
        ]
        for instant in instants {
            var writer = JSONWriter()

            writer.object { $0.field("t", instant) }

            #expect(String(decoding: writer.bytes, as: UTF8.self) == "{\"t\":\"\(instant)\"}")
        }
    }
}
