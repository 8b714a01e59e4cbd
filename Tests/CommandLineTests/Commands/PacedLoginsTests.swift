import ClarityScheduler
import Platform
import Testing

@testable import clarity_jobs

@Suite struct PacedLoginsTests {
    /// A limiter of fixed windows, and the clock that it reads.
    private final class Limiter {
        var now = Duration.zero
        var lines: [String] = []
        var (passed, refused): ([Int], Int) = ([], 0)
        private let limit: Int
        private var (start, count) = (Duration.zero, 0)

        init(limit: Int) { self.limit = limit }

        func login(_ number: Int) -> PacedLogins.End {
            if now - start >= .seconds(60) { (start, count) = (now, 0) }
            guard count < limit else {
                refused += 1
                return .limited(.seconds(60))
            }
            count += 1
            passed.append(number)
            return .ended(.done)
        }

        func run(_ count: Int) throws -> Platform.ExitStatus {
            try PacedLogins(count: count, wait: { self.now += $0 }, say: { self.lines.append($0) })
                .run { number throws(CommandFailure) in login(number) }
        }
    }

    @Test func `thirty logins take three windows of ten, and say how long`() throws {
        let limiter = Limiter(limit: 10)

        let status = try limiter.run(30)

        #expect(status == .done)
        #expect(limiter.passed == Array(0..<30))
        #expect(limiter.refused == 2 && limiter.now == .seconds(120))
        #expect(
            limiter.lines == [
                "the backend takes no further login for 1m; 20 of 30 accounts are left, which takes about 2m",
                "the backend takes no further login for 1m; 10 of 30 accounts are left, which takes about 1m",
            ])
    }

    @Test func `a limiter that admits nobody ends the logins`() throws {
        let limiter = Limiter(limit: 0)

        let status = try limiter.run(1)

        #expect(status == .deferred)
        #expect(limiter.now == .seconds(180) && limiter.passed == [])
        #expect(
            limiter.lines.last
                == "the backend takes no further login (429); 1 of 1 accounts is left")
    }

    @Test func `a refused password does not stop the others, and an interruption does`() throws {
        var tried: [Int] = []
        let ends = [Platform.ExitStatus.done, .credential, .done, .interrupted, .done]

        let status = try PacedLogins(count: ends.count, wait: { _ in }, say: { _ in })
            .run { number throws(CommandFailure) in
                tried.append(number)
                return .ended(ends[number])
            }

        #expect(tried == [0, 1, 2, 3])
        let wanted = ends[1].joined(with: .interrupted)
        #expect(status == wanted)
    }

    @Test(arguments: [
        ("limited 60000", Duration.seconds(60)), ("limited 1500\n", .milliseconds(1500)),
        ("limited", nil), ("logged in", nil), ("", nil),
    ])
    func `only the worker's line names a wait`(output: String, wait: Duration?) {
        #expect(LimitedLogin.wait(in: output) == wait)
        if let wait { #expect(LimitedLogin.wait(in: LimitedLogin.line(wait)) == wait) }
    }
}
