import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct LoginLedgerTests {
    private let folder = StateFolder()

    /// Returns an instant this many minutes after noon.
    private static func minute(_ minutes: Int) -> Instant { noon + .seconds(minutes * 60) }

    private func reserve(
        _ email: String = "ada@example.com", atMinute minutes: Int
    ) throws -> LoginReservation {
        // Opens the store anew, as a process of its own does.
        try folder.open().sessions.reserveLogin(email: email, at: Self.minute(minutes))
    }

    @Test(
        arguments: [
            ("none", [], 2, nil), ("one", [0], 1, nil), ("two", [-4, 0], 0, 11),
            ("two at once", [0, 0], 0, 15), ("three, the last two count", [-9, -4, 0], 0, 11),
            ("one is 15 min old", [-15, -1], 1, nil), ("both are old", [-20, -15], 2, nil),
            ("one in the future counts as now", [3000, -1], 0, 14),
            ("two in the future", [3000, 9000], 0, 15),
        ] as [(String, [Int], Int, Int?)])
    func `what is left follows from the tries of 15 minutes`(
        name: String, tries: [Int], left: Int, next: Int?
    ) {
        let allowance = LoginAllowance(after: tries.map(Self.minute), at: noon)

        #expect(allowance.left == left, "\(name)")
        #expect(allowance.nextAt == next.map(Self.minute), "\(name)")
    }

    @Test func `an address with spaces around it is the same account`() throws {
        _ = try reserve(atMinute: 0)
        _ = try reserve(" ada@example.com\t", atMinute: 0)

        let third = try reserve("ada@example.com\u{A0}\n", atMinute: 1)

        #expect(third == .usedUp(until: Self.minute(15)))
    }

    @Test func `the third login within 15 minutes has to wait for the first to pass`() throws {
        let first = try reserve(atMinute: 0)
        let second = try reserve(atMinute: 5)

        let third = try reserve(atMinute: 14)
        let later = try reserve(atMinute: 15)
        let again = try reserve(atMinute: 16)

        #expect(first == .granted(1) && second == .granted(2))
        #expect(third == .usedUp(until: Self.minute(15)))
        #expect(later == .granted(3))
        #expect(again == .usedUp(until: Self.minute(20)))
    }

    @Test func `each address has its own tries, and its case does not matter`() throws {
        _ = try reserve("ada@example.com", atMinute: 0)
        _ = try reserve("ADA@example.com", atMinute: 0)

        let other = try reserve("eve@example.com", atMinute: 1)
        let same = try reserve("Ada@Example.com", atMinute: 1)

        #expect(other == .granted(3))
        #expect(same == .usedUp(until: Self.minute(15)))
        #expect(
            try folder.open().sessions.loginAllowance(email: "eve@example.com", at: noon).left == 1)
    }

    @Test func `a clock that was stepped back locks nobody out for longer than 15 minutes`() throws
    {
        _ = try reserve(atMinute: 600)
        _ = try reserve(atMinute: 601)

        let stepped = try reserve(atMinute: 0)
        let waiting = try reserve(atMinute: 14)
        let over = try reserve(atMinute: 15)

        #expect(stepped == .usedUp(until: Self.minute(15)))
        #expect(waiting == .usedUp(until: Self.minute(15)))
        #expect(over == .granted(3))
    }

    @Test func `a login that was never sent does not count`() throws {
        _ = try reserve(atMinute: 0)
        guard case .granted(let number) = try reserve(atMinute: 0) else {
            Issue.record("the second is refused")
            return
        }

        try folder.open().sessions.withdrawLogin(number)

        #expect(
            try folder.open().sessions.loginAllowance(email: "ada@example.com", at: noon).left == 1)
        #expect(try reserve(atMinute: 1) == .granted(3))
    }

    @Test(.onFilesAlone) func `what has passed is forgotten, and no address is in the files`()
        throws
    {
        _ = try reserve("marker@example.com", atMinute: 0)
        _ = try reserve("other@example.com", atMinute: 15)

        let rows = try folder.open().access { connection in
            try connection.first("SELECT count(*) FROM login_tries") { $0.integer(0) }
        }

        #expect(rows == 1)
        for (name, bytes) in folder.contents {
            #expect(!bytes.contains(Array("marker@".utf8)), "\(name)")
        }
    }
}
