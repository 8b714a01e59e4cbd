import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc
import Synchronization
import Testing

@testable import Import
@testable import ClarityJobs

@Suite struct SourceIntakeTests {
    private let bench = WorkBench()

    /// Writes a source's file, and sets the clock long after the file's times.
    private func write(_ text: String) {
        let descriptor = open(bench.exportPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        precondition(Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
        close(descriptor)
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))
    }

    private func source(_ samples: [(Sample, SampleNature)]) -> ScriptedSource {
        ScriptedSource(path: bench.exportPath, samples: samples)
    }

    private func read(
        _ source: ScriptedSource, since: Instant? = nil, portion: Int = 4,
        progress: @escaping (SourceProgress) throws -> Void = { _ in }
    ) throws -> IntakeResult {
        var source = source
        if let since { source.since = since }
        return try SourceIntake(store: try bench.store(), clock: bench.clock, portion: portion)
            .read(source, progress: progress)
    }

    @Test(arguments: [1, 3, 4, 100])
    func `all samples are in the outbox, whatever the portions`(portion: Int) throws {
        let result = try read(
            source(minutes(0..<10) + [day(0, 100), day(1, 200)] + minutes(5..<12)),
            portion: portion)

        var expected = EnqueueCounts()
        (expected.queued, expected.duplicates, expected.metricsQueued) = (12, 5, 2)
        #expect(result.enqueued == expected)
        #expect(result.report.recordsRead == 19)
        #expect(try bench.states() == [.queued: 14])
    }

    @Test func `a file is not read again when only its name's times have changed`() throws {
        write("abc")
        let first = try read(source(minutes(0..<3)))
        let readAt = bench.clock.now
        bench.clock.set(readAt + .seconds(60))
        // Rewritten with the same content, so that only the stamp changes.
        let before = try #require(
            SourceStamp(path: bench.exportPath, reader: "scripted 1", at: bench.clock.now))
        unlink(bench.exportPath)
        write("abc")
        bench.clock.set(readAt + .seconds(60))
        let after = SourceStamp(path: bench.exportPath, reader: "scripted 1", at: bench.clock.now)

        let again = try read(source(minutes(0..<9)))
        let third = try read(source(minutes(0..<9)))

        #expect(first.unchangedSince == nil)
        #expect(before != after)
        #expect(again.unchangedSince == readAt && third.unchangedSince == readAt)
        #expect(try bench.store().outbox.wasRead(bench.exportPath, #require(after)) == readAt)
        #expect(try bench.states() == [.queued: 3])
    }

    @Test(arguments: ["abd", "abcd", ""])
    func `a file with other content is read again, of the same size or not`(text: String) throws {
        write("abc")
        _ = try read(source(minutes(0..<3)))
        write(text)

        let again = try read(source(minutes(0..<5)))
        let third = try read(source(minutes(0..<9)))

        #expect(again.unchangedSince == nil)
        #expect(again.enqueued.queued == 2 && again.enqueued.duplicates == 3)
        #expect(third.unchangedSince != nil)
        // The store has noted the new content.
        unlink(bench.exportPath)
        write(text)
        #expect(try read(source(minutes(0..<9))).unchangedSince != nil)
    }

    @Test func `another reader reads the same content again`() throws {
        write("abc")
        _ = try read(source(minutes(0..<3)))
        var newer = source(minutes(0..<4))
        newer.reader = "scripted 2"

        #expect(try read(newer).enqueued.queued == 1)
    }

    @Test func `a file that changes while it is read is not noted`() throws {
        write("abc")
        let path = bench.exportPath
        var source = source(minutes(0..<3))
        source.before = { place in
            guard place == 3 else { return }
            let descriptor = open(path, O_WRONLY | O_APPEND)
            _ = Glibc.write(descriptor, "d", 1)
            close(descriptor)
        }

        #expect(try read(source).enqueued.queued == 3)

        #expect(try bench.store().outbox.lastReading(of: path) == nil)
        #expect(try read(source).unchangedSince == nil)
    }

    @Test func `a file that breaks off, or has a sample from the future, is not noted`() throws {
        write("abc")
        var broken = source(minutes(0..<3))
        broken.report.brokeAt = SourceBreak(byteOffset: 2, reason: "it ends")
        var early = source(minutes(0..<3))
        early.report.refused = ["in the future": 1]

        for source in [broken, early] {
            _ = try read(source)
            #expect(try bench.store().outbox.lastReading(of: bench.exportPath) == nil)
        }
    }

    @Test(arguments: ["bad sample", "no JSON", "line too long", "in the future"])
    func `a file with what has to be mended is read, and complained of, each time`(
        refusal: String
    ) throws {
        write("abc")
        var source = source(minutes(0..<3))
        source.report.refused = [refusal: 1]

        _ = try read(source)

        #expect(try read(source).unchangedSince == nil)
    }

    @Test func `what is not over yet is read again when it is due, and not before`() throws {
        write("abc")
        var source = source(minutes(0..<3))
        source.report.unfinished = [.activity: 1]
        source.report.dueAt = bench.clock.now + .seconds(60)

        _ = try read(source)
        #expect(try read(source).unchangedSince != nil)

        bench.clock.set(bench.clock.now + .seconds(60))
        source.report.dueAt = nil
        #expect(try read(source).unchangedSince == nil)
        #expect(try read(source).unchangedSince != nil)
    }

    @Test func `a file that was only just changed is told from another by its content`() throws {
        write("abc")
        // The file is younger than this time.
        bench.clock.set(Instant(secondsSince1970: 1_700_000_000))
        let first = try read(source(minutes(0..<3)))
        let young = try read(source(minutes(0..<9)))
        write("abd")
        bench.clock.set(Instant(secondsSince1970: 1_700_000_000))
        let changed = try read(source(minutes(0..<5)))
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))
        let stamp = try #require(
            SourceStamp(path: bench.exportPath, reader: "scripted 1", at: bench.clock.now))
        let inDoubt = try bench.store().outbox.wasRead(bench.exportPath, stamp)
        let old = try read(source(minutes(0..<9)))

        #expect(first.unchangedSince == nil && first.enqueued.queued == 3)
        #expect(young.unchangedSince != nil)
        #expect(changed.enqueued.queued == 2 && changed.enqueued.duplicates == 3)
        #expect(inDoubt == nil)
        #expect(old.unchangedSince != nil)
        #expect(try bench.store().outbox.wasRead(bench.exportPath, stamp) != nil)
    }

    @Test func `a warning is heeded while the mark of a large file is still made`() throws {
        write("")
        // A sparse file that takes no disk space, and is far longer than anybody waits for.
        truncate(bench.exportPath, 16 << 30)

        let hasEnded = Atomic(false)
        var source = source(minutes(0..<3))
        source.before = { if $0 == 3 { hasEnded.store(true, ordering: .relaxed) } }
        #expect(throws: WorkStopped.self) {
            try read(source) { _ in
                if hasEnded.load(ordering: .relaxed) { throw WorkStopped() }
            }
        }

        #expect(try bench.store().outbox.lastReading(of: bench.exportPath) == nil)
    }

    @Test func `what was read is noted by kind and count`() throws {
        write("abc")
        var source = source(minutes(0..<3))
        source.report.samplesByKind = [.heartRate: 3]
        source.report.unmapped = ["HKQuantityTypeIdentifierBodyMass": 2]
        source.report.refused = ["bad date": 4]

        _ = try read(source)

        let reading = try bench.store().outbox.lastReading(of: bench.exportPath)
        #expect(
            reading?.counts == ["heart_rate": 3, "records": 3, "unmapped": 2, "refused": 4])
        #expect(reading?.bytes == 3)
        #expect(reading?.readAt == bench.clock.now)
    }

    @Test func `the steps by minute of a source are kept`() throws {
        write("abc")
        var source = source([])
        source.report.stepMinutes = [
            StepDay(
                day: CivilDay(daysSince1970: 20_000), zone: "UTC", counts: [1], knownMinutes: 1440)
        ]

        _ = try read(source)

        #expect(try bench.store().analyses.stepDays() == [CivilDay(daysSince1970: 20_000)])
    }

    @Test func `samples that began before the given instant are counted and not queued`() throws {
        write("abc")
        let since = minutes(4..<5)[0].0.start
        let all = source(minutes(0..<10) + [day(-1, 5), day(1, 6)])

        let part = try read(all, since: since)
        let again = try read(all, since: since)
        let whole = try read(all)

        #expect(part.enqueued.queued == 6 && part.enqueued.beforeSince == 4)
        #expect(part.enqueued.metricsQueued == 1 && part.enqueued.metricsBeforeSince == 1)
        #expect(part.enqueued.metrics == 2)
        #expect(again.unchangedSince != nil)
        #expect(whole.enqueued.queued == 4 && whole.enqueued.duplicates == 6)
        #expect(whole.enqueued.metricsQueued == 1 && whole.enqueued.metricsKnown == 1)
    }

    @Test func `a source's own instant counts`() throws {
        var source = source(minutes(0..<10))
        source.since = minutes(7..<8)[0].0.start

        #expect(try read(source).enqueued.beforeSince == 7)
        #expect(try read(source, since: minutes(9..<10)[0].0.start).enqueued.beforeSince == 9)
    }

    @Test(arguments: [0, 1, 5, 40, 99])
    func `an error of the source ends all, and whole portions stay`(place: Int) throws {
        struct Broken: Error {}
        var source = source(minutes(0..<100))
        source.before = { if $0 == place { throw Broken() } }

        #expect(throws: Broken.self) { try read(source) }

        let total = try bench.store().outbox.counts().total
        #expect(total <= place && total.isMultiple(of: 4), "\(total)")
        source.before = { _ in }
        let again = try read(source)
        #expect(again.enqueued.queued == 100 - total && again.enqueued.duplicates == total)
    }

    @Test func `a warning ends the reading of a source, also while its content is compared`() throws
    {
        write("abc")
        _ = try read(source(minutes(0..<3)))
        unlink(bench.exportPath)
        write("abd")

        #expect(throws: WorkStopped.self) {
            try read(source(minutes(0..<9))) { _ in throw WorkStopped() }
        }

        #expect(try bench.states() == [.queued: 3])
    }

    @Test func `an error of the store stops a source that has no end`() throws {
        let bench = bench
        try bench.logIn()
        let store = try bench.store()
        var source = source(minutes(0..<1_000_000))
        source.before = { place in
            // A wipe takes the right to write from everybody who began before it.
            if place == 10 { _ = try bench.store().wipe() }
        }

        #expect(throws: HealthStoreError.self) {
            try SourceIntake(store: store, clock: bench.clock, portion: 4)
                .read(source, progress: { _ in })
        }

        #expect(try bench.store().outbox.counts().total == 0)
    }

    @Test func `of a folder the state of the export in it decides`() throws {
        let folder = "\(bench.folder)/apple_health_export"
        mkdir(folder, 0o700)
        defer {
            unlink("\(folder)/export.xml")
            unlink("\(folder)/note.txt")
            rmdir(folder)
        }
        func read() throws -> IntakeResult {
            try SourceIntake(store: try bench.store(), clock: bench.clock).read(
                AppleHealthExport(path: folder, now: bench.clock.now), progress: { _ in })
        }
        bench.writeExport(0..<3)
        rename(bench.exportPath, "\(folder)/export.xml")

        let first = try read()
        let noteFile = open("\(folder)/note.txt", O_WRONLY | O_CREAT, 0o600)
        close(noteFile)
        let second = try read()
        bench.writeExport(0..<5)
        rename(bench.exportPath, "\(folder)/export.xml")
        let third = try read()

        #expect(first.enqueued.queued == 3)
        #expect(second.unchangedSince != nil)
        #expect(third.enqueued.queued == 2 && third.enqueued.duplicates == 3)
        #expect(try bench.store().outbox.lastReading(of: folder)?.counts["heart_rate"] == 5)
    }

    @Test func `the steps by minute that a source has are kept`() throws {
        var source = source([])
        source.report.stepMinutes = [
            StepDay(
                day: CivilDay(daysSince1970: 20_000), zone: "Europe/London",
                counts: [UInt32](repeating: 1, count: StepDay.minutes),
                knownMinutes: StepDay.minutes)
        ]

        _ = try read(source)

        #expect(try bench.store().analyses.stepDays() == [CivilDay(daysSince1970: 20_000)])
    }

    @Test func `a source that cannot be read is an error of its own`() throws {
        let export = AppleHealthExport(path: bench.exportPath, now: bench.clock.now)

        #expect(throws: SourceError.missing(path: bench.exportPath)) {
            try SourceIntake(store: try bench.store(), clock: bench.clock)
                .read(export, progress: { _ in })
        }
    }
}
