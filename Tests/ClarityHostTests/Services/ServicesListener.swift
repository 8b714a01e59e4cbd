import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

/// A test's listener for the services of a mocked bus.
struct ServicesListener {
    let services: SystemServices
    let clock: ManualClock
    private var changes: AsyncStream<Void>.Iterator

    /// Listens on a bus.
    ///
    /// The first look may take 50 seconds, as long as it needs, unless the test sets another limit.
    init(_ address: String, firstLook: Duration = .seconds(50)) throws {
        clock = ManualClock()
        services = SystemServices(clock: clock, address: address, firstLook: firstLook)
        let events = try #require(EventThread.shared)
        changes = events.elements(of: services.sources()).makeAsyncIterator()
    }

    /// Returns the current answers.
    func answers() async throws -> ServiceAnswers {
        try await blocking { [services] in services.answers() }
    }

    /// Waits for changes until the answers are as expected, and returns them.
    mutating func answers(
        when isExpected: (ServiceAnswers) -> Bool
    ) async throws -> ServiceAnswers {
        var answers = try await answers()
        while !isExpected(answers) {
            guard await changes.next() != nil else { break }
            answers = try await self.answers()
        }
        return answers
    }
}

extension ServiceAnswer {
    /// The value, or the name of the case with its reason, for expectations.
    var summary: String {
        switch self {
        case .answered(let told): "\(told.value)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .unknown(let reason): "unknown: \(reason)"
        case .silent(let reason, let last):
            "silent: \(reason)" + (last.map { ", last \($0.value)" } ?? "")
        }
    }
}

extension ServiceAnswers {
    /// Whether UPower has answered all that it is asked.
    var isPowerTold: Bool { onBattery.value != nil && battery.value != nil }
}
