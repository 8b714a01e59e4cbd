import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct CheckEndTests {
    private let now = Instant(secondsSince1970: 1_795_219_200)

    private func told(
        _ end: CheckEnd, _ question: CheckDeclaration.Question, timeout: Duration = .seconds(10),
        took: Duration = .milliseconds(12)
    ) -> Conditions.Reading<Bool> {
        let check = CheckDeclaration(name: "c", question: question, timeout: timeout)
        return end.reading(of: check, took: took, at: now)
    }

    @Test(
        arguments: [
            (CheckEnd.exited(status: 0), true, "exit 0 in 12 ms"),
            (.exited(status: 1), false, "exit 1 in 12 ms"),
            (.exited(status: 69), false, "exit 69 in 12 ms"),
            (.exited(status: 0, note: "503"), true, "exit 0 in 12 ms"),
            (.killed(signal: 11), nil, "killed by signal 11"),
            (.late, nil, "no answer within 10 s"),
            (.stuck, nil, "killed at its time limit before, and not gone since"),
            (.notStarted("not found in PATH"), nil, "not found in PATH"),
        ] as [(CheckEnd, Bool?, String)])
    func `a command passes with 0, not with another status, and is else unknown`(
        end: CheckEnd, value: Bool?, text: String
    ) {
        let reading = told(end, .command(["/usr/bin/mountpoint", "-q", "/mnt/secret"]))

        #expect(
            reading
                == Conditions.Reading(
                    value, source: "command /usr/bin/mountpoint: " + text, at: now))
    }

    @Test(
        arguments: [
            (CheckEnd.exited(status: 0, note: "204"), true, "204"),
            (.exited(status: 0), true, "answered"),
            (.exited(status: 1, note: "503"), false, "503"),
            (.exited(status: 1), false, "another answer"),
            (.exited(status: 69, note: "could not connect"), false, "could not connect"),
            (.exited(status: 69), false, "nothing answered"),
            (.exited(status: 70, note: "whatever"), nil, "could not be asked, exit 70"),
            (.exited(status: 64), nil, "could not be asked, exit 64"),
            (.killed(signal: 9), nil, "killed by signal 9"),
            (.late, nil, "no answer within 10 s"),
        ] as [(CheckEnd, Bool?, String)])
    func `a url passes with 2xx, not with another answer or none, and is else unknown`(
        end: CheckEnd, value: Bool?, text: String
    ) {
        let reading = told(end, .url("http://127.0.0.1:8080/ready?token=secret"))

        #expect(
            reading
                == Conditions.Reading(
                    value, source: "http://127.0.0.1:8080/ready: " + text, at: now))
    }

    @Test(arguments: [
        (Duration.milliseconds(250), "250 ms"), (.milliseconds(1500), "1500 ms"),
        (.seconds(300), "300 s"),
    ])
    func `a time limit is told in one unit`(timeout: Duration, text: String) {
        let reading = told(.late, .command(["a"]), timeout: timeout)

        #expect(reading.source == "command a: no answer within \(text)")
    }

    @Test func `a clock that went back makes no negative time`() {
        let reading = told(.exited(status: 0), .command(["a"]), took: .milliseconds(-5))

        #expect(reading.source == "command a: exit 0 in 0 ms")
    }

    @Test(arguments: [
        ("/tmp/a\u{1B}[31m\nb", "command /tmp/a<U+001B>[31m<U+000A>b: exit 0 in 12 ms"),
        (
            "/" + String(repeating: "x", count: 200),
            "command /" + String(repeating: "x", count: 99) + "...: exit 0 in 12 ms"
        ),
    ])
    func `a program's name neither steers nor floods who reads it`(name: String, text: String) {
        #expect(told(.exited(status: 0), .command([name])).source == text)
    }

    @Test(arguments: [
        ("503\n", "503"), ("503", "503"), ("could not connect\n", "could not connect"), ("", ""),
        ("\n", ""), ("503\n\n", ""), ("a\u{1B}[31m", ""), ("Weight 81.5 kg", ""), ("wörter", ""),
        (String(repeating: "a", count: 60), String(repeating: "a", count: 60)),
        (String(repeating: "a", count: 61), ""), ("\u{0}", ""),
    ])
    func `the note of a url check is one short plain line of its output`(
        written: String, note: String
    ) {
        #expect(CheckEnd.note(of: Array(written.utf8)[...]) == note)
    }
}
