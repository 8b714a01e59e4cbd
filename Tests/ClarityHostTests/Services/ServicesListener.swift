import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

/// Services of a mocked bus, to which a test listens.
struct ServicesListener {
    let services: SystemServices
    let clock: ManualClock
    private var changes: AsyncStream<Void>.Iterator

    /// Listens on a bus.
    ///
    /// The first look takes as long as it needs, unless the test says how long.
    init(_ address: String, firstLook: Duration = .seconds(50)) throws {
        clock = ManualClock()
        services = SystemServices(clock: clock, address: address, firstLook: firstLook)
        let events = try #require(EventThread.shared)
        changes = services.changes(on: events).makeAsyncIterator()
    }

    /// The answers now.
    func answers() async throws -> ServiceAnswers {
        try await blocking { [services] in services.answers() }
    }

    /// The answers as soon as they say what is waited for; waits for each change of them.
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
    /// For expectations: what it is, with its reason.
    var summary: String {
        switch self {
        case .told(let told): "\(told.value)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .unknown(let reason): "unknown: \(reason)"
        case .silent(let reason, let last):
            "silent: \(reason)" + (last.map { ", last \($0.value)" } ?? "")
        }
    }
}

extension ServiceAnswers {
    /// Whether UPower has said all that it is asked.
    var isPowerTold: Bool { onBattery.value != nil && battery.value != nil }
}
