import ClarityTestSupport
import Database
import Testing

@testable import HealthStore

@Suite(
    "Limits of a backend that a server keeps",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerLimitsTests {
    /// Two machines, each with another account, and the role that owns the tables.
    private struct Machines {
        /// The database goes with it.
        let folder: StateFolder
        let limits: [ServerLimits]
        let owner: ServerConnection
    }

    private func machines(_ backends: String...) async throws -> Machines {
        let folder = HealthServer.$current.withValue(try await HealthServer.shared()) {
            StateFolder()
        }
        let limits = try zip(["ada", "eve"], backends).map { account, backend in
            ServerLimits(of: backend, at: try #require(try folder.place(of: account)))
        }
        var owner = try #require(try folder.place()).address
        owner.user = "clarity"
        return Machines(
            folder: folder, limits: limits,
            owner: try ServerConnection(owner, schema: ServerHealthSchema.name))
    }

    @Test func `turns of two machines are spaced evenly, those of another backend are its own`()
        async throws
    {
        let same = try await machines("a", "a")
        let different = try await machines("a", "b")
        let clock = ContinuousClock()
        func turns(_ limits: [ServerLimits]) throws -> [Duration] {
            let start = clock.now
            return try (0..<6).map { number in
                let turn = try limits[number % 2].turn(
                    every: .seconds(2), within: .seconds(60))
                #expect(turn.isTaken)
                return turn.wait + (clock.now - start)
            }
        }

        let times = try turns(same.limits)
        let apart = try turns(different.limits)

        // The time that a statement takes comes on top, and no turn comes early.
        for (number, time) in times.enumerated() {
            #expect(time >= .seconds(2 * number), "\(times)")
            #expect(time < .seconds(2 * number + 2), "\(times)")
        }
        for (number, time) in apart.enumerated() {
            #expect(time < .seconds(2 * (number / 2) + 2), "\(apart)")
        }
    }

    @Test func `a turn that comes too late is not taken`() async throws {
        let machines = try await machines("a", "a")
        let limits = machines.limits
        _ = try limits[0].turn(every: .seconds(50), within: .zero)

        let late = try limits[1].turn(every: .seconds(50), within: .seconds(20))
        let again = try limits[0].turn(every: .seconds(50), within: .seconds(60))

        #expect(!late.isTaken && late.wait > .seconds(40))
        #expect(again.isTaken && again.wait < .seconds(50))
    }

    @Test func `a turn far ahead, which no rule gave, is ignored`() async throws {
        let machines = try await machines("a", "a")
        let limits = machines.limits
        _ = try limits[0].turn(every: .seconds(1), within: .zero)
        try machines.owner.execute("UPDATE backend_turns SET next_at = now() + interval '1 year'")

        let turn = try limits[1].turn(every: .seconds(1), within: .zero)

        #expect(turn.isTaken && turn.wait == .zero)
    }

    @Test func `two machines have no more connections than the limit`() async throws {
        let machines = try await machines("a", "a")
        let limits = machines.limits
        var first = try limits[0].connection(among: 2)
        let second = try limits[1].connection(among: 2)

        let none = try limits[0].connection(among: 2)
        let more = try limits[1].connection(among: 3)
        first = nil
        let again = try limits[1].connection(among: 2)

        #expect(second != nil && more != nil && again != nil)
        #expect(first == nil && none == nil)
    }

    @Test func `a connection is free when the session of its process ends`() async throws {
        let machines = try await machines("a", "a")
        let limits = machines.limits
        let held = try limits[0].connection(among: 1)
        let before = try limits[1].connection(among: 1)

        try await PostgresServer.shared().endSessions(
            of: try #require(try machines.folder.place()).address.database)

        // The session that looked before has ended as well.
        #expect(before == nil)
        #expect(throws: HealthStoreError.self) { try limits[1].connection(among: 1) }
        #expect(try limits[1].connection(among: 1) != nil)
        withExtendedLifetime(held) {}
    }
}
