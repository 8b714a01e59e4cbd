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

    /// A heart rate in a minute of October 2026, counted from its beginning in UTC.
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
    /// What `Playground.writeExport` writes.
    static func export(heartRates count: Int) -> Self {
        Self((0..<count).map { .heartRate($0, 60 + $0 % 40) })
    }
}

extension SendRecord.Sample {
    /// What it is a measurement of; `nil` for a type that no test sends.
    fileprivate var measurement: ExpectedSample? {
        let kinds: [String: ExpectedSample.Kind] = [
            "heart_rate": .heartRate, "HKQuantityTypeIdentifierHeartRate": .heartRate,
            "activity_level": .steps, "HKActivitySummaryTypeIdentifier": .steps,
        ]
        return kinds[type].map { ExpectedSample(kind: $0, start: start, value: value) }
    }
}

/// Judges by what the backend received and kept whether every sample arrived, and none of them twice.
///
/// It compares two accounts that the client has no part in: the samples that a test wrote, and the
/// sandbox's record of sends. The client's own rows are looked at as claims alone, which must be true.
struct DeliveryJudge {
    /// What a contract and a job file permit.
    enum Policy: CaseIterable, Sendable {
        /// The backend stores a repeated id once. A sample may be sent again after an upload that was
        /// not answered, and never after one that was answered as accepted.
        case deduplicates
        /// The backend stores every copy. The same, and the client has to count each copy.
        case resend
        /// The backend stores every copy, and no sample may be stored twice.
        case hold

        /// The contract that the policy is about, for a sandbox.
        var sandboxOptions: [String] {
            switch self {
            case .deduplicates: []
            case .resend, .hold: ["--dialect", "loop", "--quirks", "measured"]
            }
        }

        /// A job file in which every upload keeps to the policy.
        func written(into jobFile: String) -> String {
            guard self != .deduplicates else { return jobFile }
            return jobFile.replacing(
                "batch_size:", with: "on_ambiguous: \(self), batch_size:"
            ).replacing(
                "kind: processing-status,",
                with: "kind: processing-status, options: { give_up_after: 1s },")
        }
    }

    /// The attempts that were cut short. One that has read an answer may die before it has written
    /// that down; the next attempt has to send the batch again. That can only be the last upload of a
    /// connection, and only of these:
    struct CutShort: Sendable {
        /// Connections that a killed process had, by its ports.
        var ports: Set<Int> = []
        /// Entries of the record, from a program that a fault struck.
        var sends: [ClosedRange<Int>] = []
        /// So many more, of attempts that the scheduler itself killed at their time limit.
        var attempts = 0

        func covers(_ send: SendRecord.Send) -> Bool {
            send.last
                && (ports.contains(send.peerPort) || sends.contains { $0.contains(send.send) })
        }
    }

    /// What the client says of its samples.
    struct Claims: Sendable {
        /// That the backend has them.
        var delivered = 0
        /// That they may have arrived and are not sent again.
        var held = 0
        /// How many copies too many there may be.
        var possibleCopies = 0

        init() {}

        init(_ audit: StateAudit) {
            (delivered, held) = (audit.delivered, audit.samples["setAside", default: 0])
            possibleCopies = audit.possibleCopies
        }
    }

    /// What was found.
    struct Verdict: Sendable {
        /// Expected samples that the backend never stored, and claims of delivery that are false.
        var lost = 0
        /// Sends and copies beyond what the policy permits.
        var doubled = 0
        /// Samples that wait for a person though the backend said that it took them.
        var stuck = 0
        var findings: [String] = []
    }

    var policy = Policy.deduplicates
    var expected: Set<ExpectedSample>
    var record: SendRecord
    var claims: Claims
    var cutShort = CutShort()
    /// How many samples may be on hold without having reached the backend: what a kill can cut short.
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
        find(sends.count, "sends of samples that had been answered as accepted: \(ids)")
        switch policy {
        case .deduplicates: verdict.doubled = sends.count + copies
        case .resend: verdict.doubled = max(sends.count, copies - claims.possibleCopies)
        case .hold: verdict.doubled = max(sends.count, copies)
        }
        let counted = policy == .resend ? claims.possibleCopies : 0
        find(copies - counted, "copies are stored beyond the first, and \(counted) were counted")
        if policy == .hold {
            find(claims.possibleCopies, "possible copies where none may be sent")
            verdict.stuck = max(0, claims.held - doubtful - missing.count)
            find(verdict.stuck, "samples are on hold whose every upload was answered")
        }
        return verdict
    }

    /// The accepted sends that do not count against a repetition, in the order in which they came.
    private var excused: Set<Int> {
        var isAccepted: [String: SendRecord.Send] = [:]
        var excused = Set(record.sends.filter(cutShort.covers).map(\.send))
        var left = cutShort.attempts
        for send in record.sends {
            for sample in send.samples {
                if let first = isAccepted[sample.id], first.last, left > 0,
                    !excused.contains(first.send)
                {
                    excused.insert(first.send)
                    left -= 1
                }
                if send.accepted { isAccepted[sample.id] = send }
            }
        }
        return excused
    }

    /// Each send of a sample after another send of it that was accepted.
    private func blamedSends() -> [SendRecord.Send.Sample] {
        let excused = excused
        var accepted: Set<String> = []
        var blamed: [SendRecord.Send.Sample] = []
        for send in record.sends {
            blamed += send.samples.filter { accepted.contains($0.id) }
            if send.accepted, !excused.contains(send.send) {
                accepted.formUnion(send.samples.map(\.id))
            }
        }
        return blamed
    }

    /// How many samples were in an upload whose answer the client may not have.
    ///
    /// What is on hold is not sent again, so that no repetition shows which sends were cut short at a
    /// time limit: the largest of those that may be.
    private var doubtful: Int {
        let excused = excused
        let (heard, unheard) = (
            record.sends.filter { $0.accepted && !excused.contains($0.send) },
            record.sends.filter { !$0.accepted || excused.contains($0.send) }
        )
        let atTimeLimit = heard.filter(\.last).map(\.samples.count).sorted(by: >)
            .prefix(cutShort.attempts).reduce(0, +)
        return Set(unheard.flatMap { $0.samples.map(\.id) }).count + atTimeLimit
    }
}

extension DeliveryJudge.Policy {
    /// All in `make chaos`, otherwise one, which the seed draws for each part.
    static func drawn(_ part: String) -> [DeliveryJudge.Policy] {
        var random = ChaosPlan.current.generator("policy \(part)")
        return ChaosPlan.current.isWhole
            ? allCases : Array(allCases.shuffled(using: &random).prefix(1))
    }
}
