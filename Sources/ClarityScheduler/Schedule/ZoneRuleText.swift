extension ZoneRule {
    /// Parses a TZ string such as `CET-1CEST,M3.5.0,M10.5.0/3` or `<-03>3`.
    ///
    /// Rejects summer time without its two changes, because POSIX does not define them.
    init(_ text: ArraySlice<UInt8>) throws(ZoneError.Fault) {
        var scanner = Scanner(text)
        try scanner.name()
        standardOffset = -(try scanner.clock(maximumHours: 24))
        if scanner.isAtEnd { return }
        try scanner.name()
        // The default is one hour ahead.
        let offset =
            scanner.next == UInt8(ascii: ",")
            ? standardOffset + 3600 : -(try scanner.clock(maximumHours: 24))
        try scanner.expect(",")
        let begin = try scanner.change()
        try scanner.expect(",")
        let end = try scanner.change()
        guard scanner.isAtEnd else { throw scanner.fault("the end") }
        saving = Saving(offset: offset, begin: begin, end: end)
    }

    private struct Scanner {
        private let start: Int
        private var rest: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) {
            start = text.startIndex
            rest = text
        }

        var isAtEnd: Bool { rest.isEmpty }
        var next: UInt8? { rest.first }

        func fault(_ wanted: String) -> ZoneError.Fault {
            .rule(position: rest.startIndex - start, wanted: wanted)
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard next == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func expect(_ character: Unicode.Scalar) throws(ZoneError.Fault) {
            guard take(character) else { throw fault("`\(character)`") }
        }

        /// Skips a name of at least three characters, `EST` or `<+0330>`.
        mutating func name() throws(ZoneError.Fault) {
            let isQuoted = take("<")
            let length = rest.prefix { byte in
                switch byte {
                case 0x41...0x5A, 0x61...0x7A: true
                case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"): isQuoted
                default: false
                }
            }.count
            guard length >= 3 else { throw fault("a name of three letters or more") }
            rest.removeFirst(length)
            if isQuoted { try expect(">") }
        }

        /// Parses `[+-]hh[:mm[:ss]]` and returns it in seconds.
        mutating func clock(maximumHours: Int) throws(ZoneError.Fault) -> Int64 {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            var seconds = try number(0...maximumHours, "hours") * 3600
            if take(":") {
                seconds += try number(0...59, "minutes") * 60
                if take(":") { seconds += try number(0...59, "seconds") }
            }
            return Int64(isNegative ? -seconds : seconds)
        }

        mutating func change() throws(ZoneError.Fault) -> Change {
            let day = try self.day()
            // The default is two o'clock.
            return Change(
                day: day, seconds: take("/") ? try clock(maximumHours: 167) : 2 * 3600)
        }

        private mutating func day() throws(ZoneError.Fault) -> Day {
            if take("J") { return .julian(try number(1...365, "a day")) }
            guard take("M") else { return .ordinal(try number(0...365, "`M`, `J` or a day")) }
            let month = try number(1...12, "a month")
            try expect(".")
            let week = try number(1...5, "a week")
            try expect(".")
            return .weekday(try number(0...6, "a weekday"), week: week, month: month)
        }

        private mutating func number(
            _ range: ClosedRange<Int>, _ what: String
        ) throws(ZoneError.Fault) -> Int {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            let value = digits.prefix(4).reduce(0) { $0 * 10 + Int($1 - 0x30) }
            guard (1...3).contains(digits.count), range.contains(value) else {
                throw fault("\(what) from \(range.lowerBound) to \(range.upperBound)")
            }
            rest.removeFirst(digits.count)
            return value
        }
    }
}
