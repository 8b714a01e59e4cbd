import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Sources that change while nobody listens")
struct SourcesSeenTests {
    private static let old = SourceFingerprint(files: 1, newestChange: 100)

    private func jobs() throws -> [Job] {
        [try job("a", schedule: nil, events: [.sourceChanged]), try job("b", schedule: nil)]
    }

    /// Returns how many runs a scheduler adds that finds the source as `found`, after another
    /// scheduler on the same state saw it as `known`.
    private func runs(
        known: SourceFingerprint?, found: SourceFingerprint,
        scope: Planner.Scope = .everything
    ) throws -> Int {
        var desk = PlanningDesk(try jobs())
        if let known {
            try desk.handle(.sourcesSeen(["/export.zip": known]))
            for run in desk.store.runs.keys { try desk.handle(.finished(run, .success())) }
        }
        let before = desk.store.runs.count
        var next = PlanningDesk(try jobs(), store: desk.store, owner: "next", scope: scope)
        try next.handle(.sourcesSeen(["/export.zip": found]))
        #expect(try next.store.ledger().sources["/export.zip"] == found)
        return next.store.runs.count - before
    }

    @Test func `a file that was replaced starts who waits for that, and the same one nothing`()
        throws
    {
        let new = SourceFingerprint(files: 1, newestChange: 200)
        let older = SourceFingerprint(files: 1, newestChange: 50)

        #expect(try runs(known: Self.old, found: new) == 1)
        #expect(try runs(known: Self.old, found: older) == 1)
        #expect(try runs(known: Self.old, found: Self.old) == 0)
    }

    @Test func `a file that is seen for the first time counts, and one that is not there does not`()
        throws
    {
        #expect(try runs(known: nil, found: Self.old) == 1)
        #expect(try runs(known: nil, found: SourceFingerprint(files: 0, newestChange: 0)) == 0)
    }

    @Test func `a file that is gone is no news, and is when it comes back`() throws {
        let gone = SourceFingerprint(files: 0, newestChange: 0)

        #expect(try runs(known: Self.old, found: gone) == 0)
        #expect(try runs(known: gone, found: Self.old) == 1)
    }

    @Test func `a new file in a folder starts the job, and a removed one does not`() throws {
        func folder(_ files: Int, _ newest: Int64) -> SourceFingerprint {
            SourceFingerprint(isFolder: true, files: files, newestChange: newest)
        }

        #expect(try runs(known: folder(2, 100), found: folder(3, 200)) == 1)
        #expect(try runs(known: folder(2, 100), found: folder(3, 90)) == 1)
        #expect(try runs(known: folder(2, 100), found: folder(2, 200)) == 1)
        #expect(try runs(known: folder(2, 100), found: folder(1, 90)) == 0)
        #expect(try runs(known: folder(2, 100), found: folder(0, 0)) == 0)
    }
}
