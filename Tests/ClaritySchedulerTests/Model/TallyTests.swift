import ClarityScheduler
import Testing

struct TallyTests {
    @Test func `counts keep the order in which they first appeared`() {
        var tally = Tally()

        tally["samples_read"] = 2041
        tally["queued"] += 400
        tally["samples_read"] += 1
        tally["queued"] += 20
        tally["refused_by_the_server"] = 0

        #expect(tally.names == ["samples_read", "queued", "refused_by_the_server"])
        #expect(tally.summary == "2042 samples read, 420 queued, 0 refused by the server")
        #expect(!tally.isEmpty)
    }

    @Test func `a count that was never set is nought and does not appear`() {
        let tally = Tally()

        let count = tally["samples_read"]

        #expect(count == 0)
        #expect(tally.isEmpty)
        #expect(tally.summary == "")
    }
}
