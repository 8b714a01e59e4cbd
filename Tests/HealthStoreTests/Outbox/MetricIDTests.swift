import HealthModel
import Platform
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite struct MetricIDTests {
    private let sample = heartRates(0..<1)[0]

    @Test func `an id is a UUID of version 8 and never changes`() {
        let id = MetricID(userID: "9b2f6c1e-0000-4000-8000-000000000001", sample: sample)

        // Computed with Python's hashlib.blake2b from the layout that `MetricID` documents.
        #expect(id.description == "6595086a-f701-8b42-a1ac-2ae1ef6264d3")
    }

    @Test func `an id does not depend on the source or on the case of the user's id`() {
        var renamed = sample
        renamed.source = "A renamed watch"

        #expect(
            MetricID(userID: "ABC", sample: renamed) == MetricID(userID: "abc", sample: sample))
    }

    @Test func `an id depends on user, kind, times and value`() {
        var others = [sample, sample, sample, sample]
        others[0].kind = .restingHeartRate
        others[1].start = sample.start - .seconds(1)
        others[2].end = sample.end + .seconds(1)
        others[3].value = .single(51)

        let ids = others.map { MetricID(userID: "a", sample: $0) }
        let all =
            ids + [
                MetricID(userID: "a", sample: sample), MetricID(userID: "b", sample: sample),
            ]

        #expect(Set(all).count == 6)
    }

    @Test func `a content digest is BLAKE2b-256`() {
        // `printf abc | b2sum -l 256`
        #expect(
            contentDigest(Array("abc".utf8))
                == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
    }
}
