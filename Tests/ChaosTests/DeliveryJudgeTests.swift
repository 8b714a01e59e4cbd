@testable import ProgramTestSupport
import Testing

/// The judge must find each fault of a client. Otherwise rounds without a finding prove nothing.
@Suite("The check of what the backend received")
struct DeliveryJudgeTests {
    /// An upload of samples, which are given by their numbers.
    struct Send: Sendable {
        var samples: ClosedRange<Int>
        var isAccepted = true
        var isLast = false
        /// Whether the backend stored the samples.
        var isKept = true
        var port = 1
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var policy = DeliveryJudge.Policy.deduplicates
        var sends: [Send]
        var lost = 0
        var doubled = 0
        var findings = 0
        var change: @Sendable (inout DeliveryJudge) -> Void = { _ in }
    }

    @Test(arguments: [
        Case(testDescription: "all once", sends: [Send(samples: 0...9)]),
        Case(
            testDescription: "one never stored", sends: [Send(samples: 0...8)], lost: 1,
            findings: 1),
        Case(
            testDescription: "one stored with another value", sends: [Send(samples: 0...9)],
            lost: 1, findings: 2
        ) { $0.record.samples[3].value += 1 },
        Case(
            testDescription: "an unsent sample is called delivered",
            sends: [Send(samples: 0...8)], lost: 1, findings: 2
        ) { $0.claims.delivered = 10 },
        Case(
            testDescription: "sent again after no answer",
            sends: [Send(samples: 0...9, isAccepted: false), Send(samples: 0...9)]),
        Case(
            testDescription: "sent again after an acceptance",
            sends: [Send(samples: 0...9), Send(samples: 3...4)], doubled: 2, findings: 1),
        Case(
            testDescription: "sent again after an acceptance that nobody read",
            sends: [Send(samples: 0...9, isLast: true), Send(samples: 0...9)]
        ) { $0.cutShort.sends = [1...1] },
        Case(
            testDescription: "sent again by the killed process itself",
            sends: [Send(samples: 0...9), Send(samples: 0...9, isLast: true)], doubled: 10,
            findings: 1
        ) { $0.cutShort.sends = [1...2] },
        Case(
            testDescription: "answered on a connection that the killed process then used again",
            sends: [
                Send(samples: 0...4), Send(samples: 5...9, isLast: true),
                Send(samples: 0...4, port: 2), Send(samples: 5...9, isLast: true, port: 2),
            ]
        ) { $0.cutShort.sends = $0.record.programs(through: 4) },
        Case(
            testDescription: "sent again by the program that followed the killed one",
            sends: [
                Send(samples: 0...4, isLast: true), Send(samples: 0...9, port: 2),
                Send(samples: 0...4, isLast: true, port: 2),
            ], doubled: 5, findings: 1
        ) { $0.cutShort.sends = $0.record.programs(through: 3) },
        Case(
            testDescription: "a killed process, by its port",
            sends: [Send(samples: 0...9, isLast: true, port: 7), Send(samples: 0...9)]
        ) { $0.cutShort.ports = [7] },
        Case(
            testDescription: "another process than the killed one",
            sends: [Send(samples: 0...9, isLast: true, port: 8), Send(samples: 0...9)],
            doubled: 10, findings: 1
        ) { $0.cutShort.ports = [7] },
        Case(
            testDescription: "one attempt killed at its time limit, two repeated",
            sends: [
                Send(samples: 0...4, isLast: true), Send(samples: 0...4, isLast: true),
                Send(samples: 0...9),
            ], doubled: 5, findings: 1
        ) { $0.cutShort.attempts = 1 },
        Case(
            testDescription: "two requests of one killed attempt, repeated by the next",
            sends: [
                Send(samples: 0...7, isLast: true), Send(samples: 8...9, isLast: true, port: 2),
                Send(samples: 0...9, port: 3),
            ]
        ) { $0.cutShort.attempts = 1 },
        Case(
            testDescription: "two requests, where one is made at a time", policy: .resend,
            sends: [
                Send(samples: 0...7, isLast: true), Send(samples: 8...9, isLast: true, port: 2),
                Send(samples: 0...9, port: 3),
            ], doubled: 2, findings: 1
        ) { ($0.cutShort.attempts, $0.claims.possibleCopies) = (1, 10) },
        Case(
            testDescription: "a killed process whose connection had ended", policy: .resend,
            sends: [Send(samples: 0...9, isLast: true), Send(samples: 0...9)]
        ) { ($0.cutShort.killed, $0.claims.possibleCopies) = (1, 10) },
        Case(
            testDescription: "a killed process, by its port, and a repetition of another",
            policy: .resend,
            sends: [
                Send(samples: 0...4, isLast: true), Send(samples: 0...4, port: 2),
                Send(samples: 5...9, isLast: true, port: 3), Send(samples: 5...9, port: 4),
            ], doubled: 5, findings: 1
        ) { ($0.cutShort.ports, $0.cutShort.killed, $0.claims.possibleCopies) = ([1], 1, 10) },
        Case(
            testDescription: "copies that are counted", policy: .resend,
            sends: [Send(samples: 0...9, isAccepted: false), Send(samples: 0...9)]
        ) { $0.claims.possibleCopies = 10 },
        Case(
            testDescription: "copies that are not all counted", policy: .resend,
            sends: [Send(samples: 0...9, isAccepted: false), Send(samples: 0...9)], doubled: 1,
            findings: 1
        ) { $0.claims.possibleCopies = 9 },
        Case(
            testDescription: "counted copies of accepted samples", policy: .resend,
            sends: [Send(samples: 0...9), Send(samples: 0...9)], doubled: 10, findings: 1
        ) { $0.claims.possibleCopies = 10 },
        Case(
            testDescription: "copies where none may be", policy: .hold,
            sends: [Send(samples: 0...9, isAccepted: false), Send(samples: 0...9)], doubled: 10,
            findings: 1),
        Case(
            testDescription: "on hold and not arrived", policy: .hold,
            sends: [Send(samples: 0...7)]
        ) { ($0.claims.held, $0.mayBeHeld) = (2, 2) },
        Case(
            testDescription: "on hold and arrived", policy: .hold,
            sends: [Send(samples: 0...7), Send(samples: 8...9, isAccepted: false)]
        ) { ($0.claims.held, $0.mayBeHeld) = (2, 2) },
        Case(
            testDescription: "more missing than a kill can cut short", policy: .hold,
            sends: [Send(samples: 0...6)], lost: 1, findings: 1
        ) { ($0.claims.held, $0.mayBeHeld) = (3, 2) },
        Case(
            testDescription: "on hold after an acceptance that a killed attempt did not write down",
            policy: .hold, sends: [Send(samples: 0...9, isLast: true)]
        ) { ($0.claims.held, $0.mayBeHeld, $0.cutShort.attempts) = (2, 2, 1) },
        Case(
            testDescription: "on hold, more than the killed attempt had sent", policy: .hold,
            sends: [Send(samples: 0...1, isLast: true), Send(samples: 2...9)], findings: 1
        ) { ($0.claims.held, $0.mayBeHeld, $0.cutShort.attempts) = (3, 3, 1) },
        Case(
            testDescription: "on hold though it was accepted", policy: .hold,
            sends: [Send(samples: 0...9)], findings: 1
        ) { ($0.claims.held, $0.mayBeHeld) = (2, 2) },
    ])
    func `lost and duplicate samples are found, and nothing else`(row: Case) {
        var judge = DeliveryJudge(
            policy: row.policy, expected: .export(heartRates: 10), record: row.record,
            claims: .init())
        row.change(&judge)

        let verdict = judge.verdict()

        #expect(verdict.findings.count == row.findings, "\(verdict.findings)")
        #expect(verdict.lost == row.lost)
        #expect(verdict.doubled == row.doubled)
    }
}

extension DeliveryJudgeTests.Case {
    /// The record that the sandbox would keep of these sends.
    fileprivate var record: SendRecord {
        var record = SendRecord()
        var copies: [Int: Int] = [:]
        for (index, send) in sends.enumerated() {
            if send.isKept {
                for sample in send.samples { copies[sample, default: 0] += 1 }
            }
            record.sends.append(
                .init(
                    send: index + 1, connection: index + 1, peerPort: send.port,
                    accepted: send.isAccepted, last: send.isLast,
                    samples: send.samples.map { .init(id: "\($0)", outcome: "stored") }))
        }
        record.samples = copies.sorted { $0.key < $1.key }.map { sample, count in
            let expected = ExpectedSample.heartRate(sample, 60 + sample % 40)
            return .init(
                id: "\(sample)", user: "demo@example.com", type: "heart_rate",
                start: expected.start, value: expected.value,
                copies: policy == .deduplicates ? 1 : count)
        }
        return record
    }
}
