import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite("The end of an attempt on another machine, as a row")
struct PlacementRowsTests {
    private static let failure = Failure(.work, "two\nlines \\ and more")

    private static let results: [AttemptEnd.Result] = [
        .reported(.success), .reported(.failure(failure)),
        .reported(.retry(after: nil, failure)), .reported(.retry(after: .seconds(3), failure)),
        .reported(.snooze(after: .seconds(4), failure)), .reported(.awaits(.login, failure)),
        .broke(.notStarted("no\nprogram")), .broke(.exitedWithoutReport(status: 3)),
        .broke(.killedBySignal(9)), .broke(.malformedReport("a \\ line")),
        .broke(.memoryLimitExceeded(limitBytes: 1, measuredBytes: 2)),
        .broke(.leftProcessesBehind),
    ]

    @Test(arguments: results)
    func `every end is read as it was written`(result: AttemptEnd.Result) throws {
        var end = AttemptEnd(result)
        end.tally["samples_sent"] = 3
        end.tally["a_processing"] = 0
        end.facts = [
            AttemptFact("waiting", nil, at: .noon), AttemptFact("x", 7, at: .noon),
        ]
        end.notes = ["", "a note\r\nof two lines"]
        end.checkpoint = "page 3\n\\"
        end.events = [.sourceChanged]
        end.peakMemoryBytes = 123
        end.pause = PauseRequest(until: .noon, reason: "a\nreason")
        let report = PlacedEnd(end, stop: .timeout, wasKilled: true)

        #expect(PlacedEndText.end(PlacedEndText.text(report)) == report)
    }

    @Test func `an end with nothing but its result is read as it was written`() {
        let report = PlacedEnd(AttemptEnd(.reported(.success)))

        #expect(PlacedEndText.end(PlacedEndText.text(report)) == report)
    }

    @Test(arguments: ["", "outcome", "memory 1", "broke", "broke exited", "outcome success\nx y"])
    func `a text that nothing writes is no end`(text: String) {
        #expect(PlacedEndText.end(text) == nil)
    }
}
