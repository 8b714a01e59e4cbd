import HealthModel
import ClarityScheduler

// The encrypted part of a sample, as bytes.

extension Sample {
    /// The value, the source, and a byte more if it is of all sources. Kind and times are columns of
    /// the row.
    var sealedForm: [UInt8] {
        var bytes: [UInt8] = []
        switch value {
        case .single(let number):
            bytes.append(1)
            bytes.append(littleEndian: number.bitPattern)
        case .pressure(let systolic, let diastolic):
            bytes.append(2)
            bytes.append(littleEndian: Int64(systolic))
            bytes.append(littleEndian: Int64(diastolic))
        case .sleep(let night):
            bytes.append(3)
            for number in night.sealedNumbers { bytes.append(littleEndian: Int64(number)) }
            bytes.append(littleEndian: night.efficiency.bitPattern)
        case .activity(let day):
            bytes.append(4)
            for kind in ActivityDay.kinds {
                bytes.append(day[kind] == nil ? 0 : 1)
                if let value = day[kind] { bytes.append(littleEndian: value.bitPattern) }
            }
        case .values(let values): values.append(to: &bytes)
        }
        if isOfAllSources {
            bytes.append(field: source ?? "")
            bytes.append(1)
        } else if let source {
            bytes.append(field: source)
        }
        return bytes
    }

    /// Creates the sample of a row; `nil` if the bytes are not in the format of `sealedForm`.
    init?(kind: SampleKind, start: Instant, end: Instant, sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
        let value: Value
        switch reader.number(UInt8.self) {
        case 1:
            guard let bits = reader.number(UInt64.self) else { return nil }
            value = .single(Double(bitPattern: bits))
        case 2:
            guard let systolic = reader.number(Int64.self),
                let diastolic = reader.number(Int64.self)
            else { return nil }
            value = .pressure(systolic: Int(systolic), diastolic: Int(diastolic))
        case 3:
            guard let night = SleepNight(sealed: &reader) else { return nil }
            value = .sleep(night)
        case 4:
            guard let day = ActivityDay(sealed: &reader) else { return nil }
            value = .activity(day)
        case 5:
            guard let values = MeasuredValues(sealed: &reader) else { return nil }
            value = .values(values)
        default: return nil
        }
        let hasSource = !reader.isAtEnd
        let source = reader.field()
        guard source != nil || !hasSource else { return nil }
        let isOfAllSources = reader.number(UInt8.self) == 1
        self.init(
            kind: kind, start: start, end: end, value: value,
            source: isOfAllSources && source == "" ? nil : source)
        self.isOfAllSources = isOfAllSources
    }
}

extension SleepNight {
    /// All numbers but the efficiency; -1 stands for unknown minutes to sleep.
    fileprivate var sealedNumbers: [Int] {
        [
            totalMinutes, wakeCount, awakeMinutes, lightMinutes, deepMinutes, remMinutes,
            minutesToSleep ?? -1,
        ]
    }

    fileprivate init?(sealed reader: inout ByteReader) {
        var numbers: [Int] = []
        for _ in 0..<7 {
            guard let number = reader.number(Int64.self) else { return nil }
            numbers.append(Int(number))
        }
        guard let efficiency = reader.number(UInt64.self) else { return nil }
        self.init(
            totalMinutes: numbers[0], efficiency: Double(bitPattern: efficiency),
            wakeCount: numbers[1], awakeMinutes: numbers[2], lightMinutes: numbers[3],
            deepMinutes: numbers[4], remMinutes: numbers[5],
            minutesToSleep: numbers[6] < 0 ? nil : numbers[6])
    }
}

extension MeasuredValues {
    /// Appends the numbers by code, and the text.
    fileprivate func append(to bytes: inout [UInt8]) {
        bytes.append(5)
        bytes.append(UInt8(numbers.count))
        for (measure, number) in numbers.sorted(by: { $0.key.code < $1.key.code }) {
            bytes.append(measure.code)
            bytes.append(littleEndian: number.bitPattern)
        }
        bytes.append(text == nil ? 0 : 1)
        if let text { bytes.append(field: text) }
    }

    fileprivate init?(sealed reader: inout ByteReader) {
        self.init()
        guard let count = reader.number(UInt8.self) else { return nil }
        for _ in 0..<count {
            guard let measure = reader.number(UInt8.self).flatMap({ Measure(code: $0) }),
                let bits = reader.number(UInt64.self)
            else { return nil }
            numbers[measure] = Double(bitPattern: bits)
        }
        switch reader.number(UInt8.self) {
        case 0: break
        case 1:
            guard let text = reader.field() else { return nil }
            self.text = text
        default: return nil
        }
    }
}

extension ActivityDay {
    fileprivate init?(sealed reader: inout ByteReader) {
        self.init()
        for kind in ActivityDay.kinds {
            switch reader.number(UInt8.self) {
            case 0: break
            case 1:
                guard let bits = reader.number(UInt64.self) else { return nil }
                self[kind] = Double(bitPattern: bits)
            default: return nil
            }
        }
    }
}
