import ClarityScheduler
import Testing

struct TallyTests {
    @Test func `counts keep the order in which they first appeared`() {
        var tally = Tally()

        tally["samples_read"] = 2041
        tally["queued"] += 400
        tally["samples_read"] += 1
        tally["queued"] += 20

        #expect(tally.names == ["samples_read", "queued"])
        #expect(tally.summary == "2042 samples read, 420 queued")
        #expect(!tally.isEmpty)
    }

    @Test func `the summary leaves out what is nought`() {
        var tally = Tally()

        tally["samples_read"] = 0
        tally["refused"] = 0
        tally["sent"] = 1

        #expect(tally.summary == "1 sent")
        #expect(tally.whole == "0 samples read, 0 refused, 1 sent")
    }

    @Test func `a summary of nothing but zeros is the first of them`() {
        var tally = Tally()

        tally["samples_removed"] = 0
        tally["files_removed"] = 0

        #expect(tally.summary == "0 samples removed")
    }

    @Test(arguments: [
        ("samples_sent", "1 sample sent"), ("entries_sent", "1 entry sent"),
        ("analyses_completed", "1 analysis completed"), ("archived_versions", "1 archived version"),
        ("nights_without_sleep", "1 night without sleep"), ("sent", "1 sent"),
    ])
    func `a single one has a noun in the singular`(name: String, words: String) {
        var tally = Tally()

        tally[name] = 1

        #expect(tally.summary == words)
    }

    @Test func `a count that was never set is nought and does not appear`() {
        let tally = Tally()

        let count = tally["samples_read"]

        #expect(count == 0)
        #expect(tally.isEmpty)
        #expect(tally.summary == "")
    }

    @Test func `attempts of a run add up, and what is still open is that of the last`() {
        var run = Tally()
        var first = Tally()
        first["samples_sent"] = 22
        first["uploads_processing"] = 3
        var second = Tally()
        second["samples_sent"] = 38
        second["uploads_processing"] = 1

        run.add(first)
        run.add(second)

        #expect(run["samples_sent"] == 60)
        #expect(run["uploads_processing"] == 1)
    }

    @Test func `where an attempt ended without a report, the summary states no total`() {
        var tally = Tally()
        tally["samples_sent"] = 2
        tally[Tally.unreported] = 1

        #expect(tally.hasCounted)
        #expect(
            tally.summary
                == "at least 2 samples sent: 1 attempt ended before it reported all counts")
        tally["samples_sent"] = 0
        tally[Tally.unreported] = 3
        #expect(!tally.hasCounted)
        #expect(tally.summary == "3 attempts ended before they reported any counts")
    }

    @Test func `HTTP answers are neither work nor part of the summary`() {
        var tally = Tally()
        tally["http_2xx"] = 9

        #expect(!tally.hasCounted && tally.summary == "" && tally.whole == "9 http 2xx")
        tally["samples_sent"] = 2
        #expect(tally.hasCounted && tally.summary == "2 samples sent")
    }
}
