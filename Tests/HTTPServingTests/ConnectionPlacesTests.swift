import Testing

@testable import HTTPServing

struct ConnectionPlacesTests {
    @Test func `a new connection ends the oldest of whoever has the most`() {
        var places = ConnectionPlaces(most: 4, idleTime: .seconds(60))
        let start = ContinuousClock.now
        func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

        for id in 1...3 { #expect(places.open(UInt(id), from: 7, at: at(id)) == nil) }
        #expect(places.open(4, from: 8, at: at(0)) == nil)
        #expect(places.open(5, from: 9, at: at(5)) == 1)
        #expect(places.open(6, from: 9, at: at(6)) == 2)
        // A person's connections stay while there are strangers, and what waits for the server does.
        places.begin(3, by: "anna", at: at(7))
        places.begin(4, by: "anna", at: at(7))
        #expect(places.open(7, from: 9, at: at(8)) == 5)
        places.begin(6, by: "ben", at: at(8))
        places.begin(7, by: "anna", at: at(8))
        places.wait(4)
        #expect(places.open(8, from: 9, at: at(9)) == 3)
        places.wait(6)
        places.wait(7)
        places.wait(8)
        #expect(places.open(9, from: 9, at: at(10)) == 9)
    }

    @Test func `a connection has 10 s for its head, and ten minutes for a body and an answer`() {
        var places = ConnectionPlaces(most: 4, idleTime: .seconds(60))
        let start = ContinuousClock.now

        _ = places.open(1, from: 7, at: start)
        #expect(places.next == start + .seconds(10))
        #expect(places.takeOverdue(at: start + .seconds(9)) == [])
        places.begin(1, by: nil, at: start)
        #expect(places.next == start + .seconds(600))
        places.wait(1)
        #expect(places.next == nil)
        places.answer(1, at: start)
        #expect(places.next == start + .seconds(600))
        places.finish(1, at: start)
        #expect(places.takeOverdue(at: start + .seconds(60)) == [1])
        #expect(places.next == nil)
    }
}
