import ClarityJobs

// What the sums of half hours come to, once all records are known.

extension DayFolding {
    /// What was made of the days.
    struct Outcome: Equatable {
        var made: Int64 = 0
        /// The days that had not ended.
        var unfinished: Int64 = 0
    }

    /// Hands over each day that has ended, in their order, with its bounds.
    ///
    /// In each half hour and lane the best source that has something counts and no other, so that
    /// what two devices counted together is not counted twice. The phone's own totals of energy and
    /// exercise come before sums.
    ///
    /// - Parameters:
    ///   - order: the place of each source in the order of ranks, by its index.
    ///   - until: when the records end, in seconds; a day that ends later is not handed over.
    /// - Throws: what `each` throws.
    mutating func resolve(
        order: [Int], until: Int64, _ each: (ActivityDay, LocalDay) throws -> Void
    ) rethrows -> Outcome {
        var outcome = Outcome()
        var numbers = Set(summaries.keys)
        for key in pages.keys { numbers.insert(key.day) }
        for key in latest.keys { numbers.insert(key.day) }
        let places = pages.keys.indices.sorted { pages.keys[$0] < pages.keys[$1] }
        let singles = latest.keys.sorted()
        var page = 0
        var single = 0
        for number in numbers.sorted() {
            let pagesOfDay = DayFolding.advance(&page, in: places) { pages.keys[$0].day == number }
            let singlesOfDay = DayFolding.advance(&single, in: singles) { $0.day == number }
            var day = ActivityDay()
            sum(pagesOfDay, order, into: &day)
            chooseSingles(singlesOfDay, order, into: &day)
            if let energy = summaries[number]?.energy { day.activeEnergy = energy }
            if let exercise = summaries[number]?.exercise { day.exerciseMinutes = exercise }
            let bounds = days.day(number)
            guard !day.isEmpty, bounds.start < bounds.end else { continue }
            guard bounds.end <= until else {
                outcome.unfinished += 1
                continue
            }
            try each(day, bounds)
            outcome.made += 1
        }
        return outcome
    }

    /// The elements from `place` on for which `belongs` is true; `place` is then behind them.
    private static func advance<Element>(
        _ place: inout Int, in elements: [Element], while belongs: (Element) -> Bool
    ) -> ArraySlice<Element> {
        let start = place
        while place < elements.count, belongs(elements[place]) { place += 1 }
        return elements[start..<place]
    }

    /// Adds up the pages of one day, which are in the order of their lanes.
    private func sum(_ places: ArraySlice<Int>, _ order: [Int], into day: inout ActivityDay) {
        var totals: [SampleKind: Int64] = [:]
        var rest = places
        while let first = rest.first {
            let lane = pages.keys[first].lane
            let ofLane = rest.prefix { pages.keys[$0].lane == lane }
            rest = rest.dropFirst(ofLane.count)
            let ranked = ofLane.sorted {
                order[pages.keys[$0].source] < order[pages.keys[$1].source]
            }
            var total: Int64 = 0
            for slot in 0..<PageStore.slots {
                for place in ranked where pages.page(place)[slot] > 0 {
                    total += Int64(pages.page(place)[slot])
                    break
                }
            }
            totals[lanes[lane], default: 0] += total
        }
        for (kind, total) in totals {
            let value = Double(total) / DayFolding.scale(kind)
            // Nobody takes a part of a step; it is a record that two half hours share.
            let isCount = kind == .steps || kind == .flightsClimbed
            day[kind] = isCount ? Double((total + 50) / 100) : value
        }
    }

    private func chooseSingles(
        _ keys: ArraySlice<PageKey>, _ order: [Int], into day: inout ActivityDay
    ) {
        var chosen: [SampleKind: (place: Int, value: Latest)] = [:]
        for key in keys {
            guard let value = latest[key] else { continue }
            let kind = lanes[key.lane]
            let place = order[key.source]
            // Better is a smaller place, then a later record.
            if let known = chosen[kind],
                known.place < place || known.place == place && known.value > value
            {
                continue
            }
            chosen[kind] = (place, value)
        }
        for (kind, choice) in chosen { day[kind] = choice.value.value }
    }
}
