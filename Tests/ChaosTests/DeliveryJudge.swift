import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// A sample that must reach the backend, as a test computes it from the sources that it wrote.
struct ExpectedSample: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Sendable { case heartRate, steps }

    var kind: Kind
    var start: String
    var value: Double

    var description: String { "\(kind) \(value) at \(start)" }

    /// Returns a heart rate in a minute of October 2026, counted from the start of the month in
    /// UTC.
    static func heartRate(_ minute: Int, _ value: Int) -> ExpectedSample {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return ExpectedSample(
            kind: .heartRate,
            start:
                "2026-10-\(two(1 + minute / 1440))T\(two(minute / 60 % 24)):\(two(minute % 60)):00Z",
            value: Double(value))
    }

}

extension Set<ExpectedSample> {
    /// Returns the samples that `Playground.writeExport` writes.
    static func export(heartRates count: Int) -> Self {
        Self((0..<count).map { .heartRate($0, 60 + $0 % 40) })
    }
}

extension SendRecord.Sample {
    /// The expected sample that this one matches, or `nil` for a type that no test sends.
    fileprivate var measurement: ExpectedSample? {
        let kinds: [String: ExpectedSample.Kind] = [
            "heart_rate": .heartRate, "HKQuantityTypeIdentifierHeartRate": .heartRate,
            "activity_level": .steps, "HKActivitySummaryTypeIdentifier": .steps,
        ]
        return kinds[type].map { ExpectedSample(kind: $0, start: start, value: value) }
    }
}

/// Judges by what the backend received and stored whether every sample arrived, and none twice.
///
/// The judge compares two accounts that the client cannot influence: the samples that a test wrote,
/// and the sandbox's record of sends. It treats the client's own rows only as claims, which must be
/// true.
struct DeliveryJudge {
    /// The repetitions that the backend's contract and the job file permit.
    enum Policy: CaseIterable, Sendable {
        /// The backend stores a repeated id once. A sample may be sent again after an upload
        /// without an answer, and never after an upload that the backend accepted.
        case deduplicates
        /// The backend stores every copy. The rule for sending is the same, and the client has to
        /// count each copy.
        case resend
        /// The backend stores every copy, and no sample may be stored twice.
        case hold

        /// The sandbox options for the contract of this policy.
        var sandboxOptions: [String] {
            switch self {
            case .deduplicates: []
            case .resend, .hold: ["--dialect", "loop", "--quirks", "measured"]
            }
        }

        /// Returns the job file with options that make every upload follow the policy.
        func written(into jobFile: String) -> String {
            guard self != .deduplicates else { return jobFile }
            return jobFile.replacing(
                "batch_size:", with: "on_ambiguous: \(self), batch_size:"
            ).replacing(
                "kind: processing-status,",
                with: "kind: processing-status, options: { give_up_after: 1s },")
        }
    }

    /// The attempts that were cut short. Such an attempt may read an answer and die before it
    /// records it, so the next attempt has to send the batch again. This can only affect the last
    /// upload of a connection, and only the uploads named here:
    struct CutShort: Sendable {
        /// The ports of connections that a killed process had.
        var ports: Set<Int> = []
        /// The entries of the record that come from a program that a fault struck.
        var sends: [ClosedRange<Int>] = []
        /// The number of further attempts, which the scheduler itself killed at their time limit.
        var attempts = 0
        /// The number of all attempts that were killed, or whose scheduler was. It counts where one
        /// batch is sent at a time: a backend that ends each connection after its answer leaves a
        /// program that is killed next without a port.
        var killed = 0

        /// Whether two sends come from the same program that was cut short.
        func isSame(_ one: SendRecord.Send, _ other: SendRecord.Send) -> Bool {
            one.peerPort == other.peerPort
                || sends.contains { $0.contains(one.send) && $0.contains(other.send) }
        }

        func covers(_ send: SendRecord.Send) -> Bool {
            send.last
                && (ports.contains(send.peerPort) || sends.contains { $0.contains(send.send) })
        }
    }

    /// What the client reports about its samples.
    struct Claims: Sendable {
        /// The number of samples that the backend has.
        var delivered = 0
        /// The number of samples that may have arrived and are not sent again.
        var held = 0
        /// The number of extra copies that the backend may store.
        var possibleCopies = 0

        init() {}

        init(_ audit: StateAudit) {
            (delivered, held) = (audit.delivered, audit.samples["setAside", default: 0])
            possibleCopies = audit.possibleCopies
        }
    }

    /// The result of a judgement.
    struct Verdict: Sendable {
        /// The number of expected samples that the backend never stored, or of false claims of
        /// delivery.
        var lost = 0
        /// The number of sends and copies beyond what the policy permits.
        var doubled = 0
        /// The number of samples that are on hold although the backend accepted them.
        var stuck = 0
        var findings: [String] = []
    }

    var policy = Policy.deduplicates
    var expected: Set<ExpectedSample>
    var record: SendRecord
    var claims: Claims
    var cutShort = CutShort()
    /// The largest number of samples that a kill may leave on hold before they reach the backend.
    var mayBeHeld = 0

    func verdict() -> Verdict {
        var verdict = Verdict()
        func find(_ count: Int, _ words: String) {
            if count > 0 { verdict.findings.append("\(count) \(words)") }
        }
        let arrived = Set(record.samples.compactMap(\.measurement))
        let missing = expected.subtracting(arrived)
        let strangers =
            record.samples.count { $0.measurement.map { !expected.contains($0) } ?? true }
        let held = min(claims.held, mayBeHeld)
        let boast = claims.delivered - record.samples.count
        verdict.lost = max(0, missing.count - held, boast)
        find(
            missing.count - held,
            "samples never reached the backend: \(missing.map(\.description).sorted().prefix(3))")
        find(boast, "samples are called delivered that the backend does not have")
        find(strangers, "samples reached the backend that nobody wrote")

        let sends = blamedSends()
        let copies = record.samples.reduce(0) { $0 + $1.copies - 1 }
        let ids = Set(sends.map(\.id)).sorted().prefix(3)
        let own = record.sends.filter { send in send.samples.contains { ids.contains($0.id) } }
            .map { "\($0.send)\($0.accepted ? "+" : "-")\($0.last ? "." : "")" }
        find(
            sends.count,
            "sends of samples that had been answered as accepted: \(ids) in sends \(own)")
        switch policy {
        case .deduplicates: verdict.doubled = sends.count + copies
        case .resend: verdict.doubled = max(sends.count, copies - claims.possibleCopies)
        case .hold: verdict.doubled = max(sends.count, copies)
        }
        let counted = policy == .resend ? claims.possibleCopies : 0
        find(copies - counted, "copies are stored beyond the first, and \(counted) were counted")
        if policy == .hold {
            find(claims.possibleCopies, "possible copies where none may be sent")
            verdict.stuck = max(0, claims.held - inDoubt - missing.count)
            find(verdict.stuck, "samples are on hold whose every upload was answered")
        }
        return verdict
    }

    /// The number of attempts that were cut short and whose last send no port or range names.
    private var unnamedCuts: Int {
        guard policy != .deduplicates else { return cutShort.attempts }
        return cutShort.attempts
            + max(0, cutShort.killed - record.sends.count(where: cutShort.covers))
    }

    /// The numbers of the sends whose samples may be sent again although they were accepted. The
    /// allowance `unnamedCuts` goes to the repetitions that arrived first. An attempt had several
    /// requests under way where the backend deduplicates: all of them came before the repetition.
    private var excused: Set<Int> {
        var isAccepted: [String: SendRecord.Send] = [:]
        var excused = Set(record.sends.filter(cutShort.covers).map(\.send))
        var left = unnamedCuts
        var sameAttempt = (end: 0, left: 0)
        for send in record.sends {
            for sample in send.samples {
                if let first = isAccepted[sample.id], first.last, !excused.contains(first.send) {
                    if first.send < sameAttempt.end, sameAttempt.left > 0 {
                        sameAttempt.left -= 1
                        excused.insert(first.send)
                    } else if left > 0 {
                        left -= 1
                        let atOnce = policy == .deduplicates ? Self.mostAtOnce : 1
                        sameAttempt = (send.send, atOnce - 1)
                        excused.insert(first.send)
                    }
                }
                if send.accepted { isAccepted[sample.id] = send }
            }
        }
        return excused
    }

    /// The numbers of the sends that programs which were cut short may have had under way, or
    /// answered but not settled: up to four requests each, over connections that they use again.
    private var unsettled: Set<Int> {
        var numbers: Set<Int> = []
        for range in cutShort.sends {
            // In a scene at most two jobs upload at the same time.
            let own = record.sends.map(\.send).filter(range.contains)
            numbers.formUnion(own.suffix(2 * Self.mostAtOnce))
        }
        for port in cutShort.ports {
            let own = record.sends.filter { $0.peerPort == port }.map(\.send)
            numbers.formUnion(own.suffix(Self.mostAtOnce))
        }
        return numbers
    }

    /// The most requests that one upload has under way.
    private static let mostAtOnce = 4

    /// Returns each send of a sample that follows an accepted send of the same sample.
    private func blamedSends() -> [SendRecord.Send.Sample] {
        let excused = excused
        let unsettled = policy == .deduplicates ? unsettled : []
        var accepted: [String: SendRecord.Send] = [:]
        var blamed: [SendRecord.Send.Sample] = []
        for send in record.sends {
            blamed += send.samples.filter { sample in
                guard let former = accepted[sample.id] else { return false }
                // The program itself knew of the answer; only its successor may not.
                return !unsettled.contains(former.send) || cutShort.isSame(former, send)
            }
            if send.accepted, !excused.contains(send.send) {
                for sample in send.samples { accepted[sample.id] = send }
            }
        }
        return blamed
    }

    /// The number of samples in uploads whose answer may not have reached the client.
    ///
    /// Samples on hold are not sent again, so no repetition shows which sends were cut short where
    /// nothing else names them. The largest sends that may have been cut short are counted.
    private var inDoubt: Int {
        let excused = excused
        let (heard, unheard) = (
            record.sends.filter { $0.accepted && !excused.contains($0.send) },
            record.sends.filter { !$0.accepted || excused.contains($0.send) }
        )
        let atTimeLimit = heard.filter(\.last).map(\.samples.count).sorted(by: >)
            .prefix(unnamedCuts).reduce(0, +)
        return Set(unheard.flatMap { $0.samples.map(\.id) }).count + atTimeLimit
    }
}

extension SendRecord {
    /// Returns the sends up to one, apart by the programs that made them: a killed one, and those
    /// that the same command started after it.
    ///
    /// A program uses its connections again until it ends, and its successor has others. So what
    /// lies between the first and the last use of a port is from one program.
    func programs(through last: Int) -> [ClosedRange<Int>] {
        let sends = sends.filter { $0.send <= last }
        let ends = Dictionary(sends.map { ($0.peerPort, $0.send) }) { max($0, $1) }
        return sends.reduce(into: []) { ranges, send in
            let range = send.send...max(send.send, ends[send.peerPort] ?? 0)
            if let former = ranges.last, former.upperBound >= send.send {
                ranges[ranges.count - 1] =
                    former.lowerBound...max(former.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
    }
}

extension DeliveryJudge.Policy {
    /// Returns all policies in `make chaos`, and otherwise one that the seed draws for each part.
    static func drawn(_ part: String) -> [DeliveryJudge.Policy] {
        var random = ChaosPlan.current.generator("policy \(part)")
        return ChaosPlan.current.isWhole
            ? allCases : Array(allCases.shuffled(using: &random).prefix(1))
    }
}
