import Testing

@testable import HealthStore

/// What is known of the resources on a FHIR server. All ids are invented.
@Suite struct SentResourcesTests {
    private typealias Version = SentResources.Version

    private static func id(_ number: UInt64) -> FHIRID { FHIRID(high: 7, low: number) }

    /// Returns resources of each state: usual, of another version, refused, withdrawn, erased.
    private static func everything() -> SentResources {
        var sent = SentResources()
        for number in UInt64(0)..<3 {
            sent.confirm(id(number), Version(content: 0, server: Version.digest("1")))
        }
        sent.confirm(id(3), Version(content: 5, server: Version.digest("2")))
        sent.refused[id(4)] = 9
        sent.withdraw(id(5))
        sent.erase(id(6))
        sent.records = 11
        return sent
    }

    @Test func `what is written is read again, and half of it is nothing`() {
        let sent = Self.everything()
        var bytes: [UInt8] = []
        sent.append(to: &bytes)

        var whole = ByteReader(bytes)
        #expect(SentResources(&whole) == sent)
        for count in bytes.indices {
            var half = ByteReader(Array(bytes[..<count]))
            #expect(SentResources(&half) == nil, "\(count) bytes")
        }
    }

    @Test func `a resource is in one state at a time`() {
        for number in UInt64(0)..<7 {
            let id = Self.id(number)
            func states(_ sent: SentResources) -> Int {
                [
                    sent.confirmed[id] != nil, sent.refused[id] != nil,
                    sent.withdrawn.contains(id), sent.erased.contains(id),
                ].count { $0 }
            }
            var (confirmed, withdrawn, erased) = (
                Self.everything(), Self.everything(), Self.everything()
            )
            confirmed.confirm(id, Version(content: 1, server: 2))
            withdrawn.withdraw(id)
            erased.erase(id)

            #expect(states(Self.everything()) == 1)
            #expect(states(confirmed) == 1 && confirmed.confirmed[id] != nil)
            #expect(states(withdrawn) == 1 && withdrawn.withdrawn.contains(id))
            #expect(states(erased) == 1 && erased.erased.contains(id))
        }
    }
}
