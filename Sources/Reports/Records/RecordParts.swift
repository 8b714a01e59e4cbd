import HealthStore
import ClarityScheduler
import JSON
import CLinux
@preconcurrency import Glibc
import Platform

// The parts of records that every format writes alike.

/// What a line says beyond its record: under whose ids, and whose it is.
struct Recipient {
    let store: HealthStore
    /// `nil` if nobody said so.
    var patient: FHIRPatient?
    /// Whether the Devices go there too, so that Observations may refer to them.
    var hasDevices = true
}

/// Writes the records of a segment as lines of a file.
protocol RecordLines {
    /// The first lines of each file.
    static var heading: String { get }

    /// Returns the name of the file of a type, whose name has no special characters.
    static func fileName(of type: String) -> String

    init(_ segment: Segment, type: String, _ recipient: Recipient)

    mutating func append(_ record: ArchivedRecord, to bytes: inout [UInt8])
}

/// What is made of the texts of a segment, each when it is first asked for.
final class SegmentTexts<Made> {
    private let segment: Segment
    private let make: ([UInt8]) -> Made
    private var made: [Made?]

    init(_ segment: Segment, _ make: @escaping ([UInt8]) -> Made) {
        self.segment = segment
        self.make = make
        made = Array(repeating: nil, count: segment.texts.count)
    }

    subscript(index: UInt32) -> Made {
        if let known = made[Int(index)] { return known }
        let new = make(segment.texts[index])
        made[Int(index)] = new
        return new
    }
}

extension ArchivedRecord {
    /// The value as it was written; `nil` for a record without one.
    func valueText(in segment: Segment) -> String? {
        switch value {
        case .none: nil
        case .number(let mantissa, let decimals):
            RecordNumber.text(mantissa: mantissa, decimals: decimals)
        case .text(let index): String(decoding: segment.texts[index], as: UTF8.self)
        }
    }
}

/// The metadata of a record: names and values in the order of the source.
struct RecordMetadata {
    let pairs: [(name: String, value: String)]

    /// Reads what the archive has: names and values, each with a byte 0 behind it.
    init(_ bytes: [UInt8]) {
        let texts = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
        pairs = stride(from: 0, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) }
    }

    var json: JSON { json(cut: nil) }

    /// Returns the metadata as an object.
    ///
    /// - Parameter cut: the most characters of a text, behind which the number of all stands; `nil`
    ///   for whole texts.
    func json(cut: Int?) -> JSON {
        .object(
            pairs.map { name, value in
                var text = value
                if let cut, value.utf8.count > cut, value.count > cut {
                    text = "\(value.prefix(cut))... (\(value.count) characters)"
                }
                return JSON.Member(name: name, value: .string(text))
            })
    }
}

/// The curve of an electrocardiogram: of a phone's file, or of the list of voltages that Health Auto
/// Export writes.
struct RecordedCurve {
    /// The entry of the metadata that has it.
    let name: String
    /// The samples, with blanks between them.
    let numbers: String
    /// `nil` for the record's own unit.
    let unit: String?
    /// Samples a second.
    let rate: Double

    /// - Parameter text: returns an entry of the metadata.
    /// - Returns: `nil` for a record of another type, and for samples without a rate.
    init?(of type: String, _ text: (String) -> String?) {
        let rate: String?
        switch type {
        case KeptFile.electrocardiogram:
            (name, rate, unit) = (KeptFile.curve, text(KeptFile.rate), nil)
            numbers = text(name) ?? ""
        case "ecg":
            (name, rate) = ("voltageMeasurements", text("samplingFrequency"))
            guard let found = Self.voltages(text(name) ?? "") else { return nil }
            (numbers, unit) = found
        default: return nil
        }
        guard let rate = rate.flatMap(KeptFile.leadingNumber), rate > 0, !numbers.isEmpty else {
            return nil
        }
        self.rate = rate
    }

    /// Returns the voltages of a list in one unit; `nil` for anything else.
    private static func voltages(_ text: String) -> (numbers: String, unit: String)? {
        do throws(JSONFault) {
            guard case .array(let list) = try JSONParser.parse(Array(text.utf8)),
                let unit = list.first?["units"]?.text
            else { return nil }
            var numbers: [String] = []
            for point in list {
                guard point["units"]?.text == unit, let voltage = point["voltage"],
                    voltage.double != nil
                else { return nil }
                numbers.append(voltage.line)
            }
            return (numbers.joined(separator: " "), unit)
        } catch {
            return nil
        }
    }
}

/// Writes times such as `2026-01-31T08:30:00+01:00`, and each date once for its neighbours.
struct TimeWriter {
    private var day = Int64.min
    private var date: [UInt8] = []

    mutating func append(_ seconds: Int64, _ offset: Int16, to bytes: inout [UInt8]) {
        let clock = seconds &+ Int64(offset) * 60
        let day = clock >= 0 ? clock / 86_400 : (clock - 86_399) / 86_400
        if day != self.day {
            self.day = day
            let civil = CivilTime(day * 86_400_000)
            let year = String(civil.year)
            date = Array(String(repeating: "0", count: max(4 - year.utf8.count, 0)).utf8)
            date += Array(year.utf8) + [UInt8(ascii: "-")]
            TimeWriter.append(civil.month, to: &date)
            date.append(UInt8(ascii: "-"))
            TimeWriter.append(civil.day, to: &date)
            date.append(UInt8(ascii: "T"))
        }
        bytes += date
        let second = Int(clock - day * 86_400)
        TimeWriter.append(second / 3600, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        TimeWriter.append(second / 60 % 60, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        TimeWriter.append(second % 60, to: &bytes)
        bytes.append(UInt8(ascii: offset < 0 ? "-" : "+"))
        TimeWriter.append(Int(offset.magnitude) / 60, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        TimeWriter.append(Int(offset.magnitude) % 60, to: &bytes)
    }

    mutating func text(_ seconds: Int64, _ offset: Int16) -> String {
        var bytes: [UInt8] = []
        append(seconds, offset, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "0") + UInt8(number / 10))
        bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}

/// The unfinished file beside a name, which is removed unless it gets the name.
///
/// Half a file in the clear is of no use to anybody. What a killed process has left is written anew;
/// what another process is writing is left alone.
final class RecordDraft {
    let path: String
    /// Locked until the draft is gone or has its name.
    private let lock: FileLock
    var descriptor: Int32 { lock.descriptor }
    private let name: String
    private var isOurs = false

    /// - Throws: `RecordExport.Fault.exists` if something has the name already, `.busy` if another
    ///   process writes it.
    init(of name: String) throws(RecordExport.Fault) {
        self.name = name
        path = "\(name).part"
        try RecordDraft.checkIsNew(name)
        do throws(SystemError) {
            lock = try FileLock(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
            guard try lock.take(LOCK_EX) else { throw SystemError(code: EWOULDBLOCK) }
        } catch {
            guard error.code == EWOULDBLOCK else { throw .system(path: path, code: error.code) }
            throw .busy(path: name)
        }
        try prepare()
        isOurs = true
    }

    private func prepare() throws(RecordExport.Fault) {
        var (status, named) = (stat(), stat())
        // Who held the lock until now may have given the file its name.
        guard fstat(descriptor, &status) == 0, lstat(path, &named) == 0,
            status.st_ino == named.st_ino, status.st_dev == named.st_dev
        else { throw .busy(path: name) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1
        else { throw .system(path: path, code: EEXIST) }
        guard fchmod(descriptor, 0o600) == 0,
            status.st_size == 0 || ftruncate(descriptor, 0) == 0
        else { throw .system(path: path, code: errno) }
    }

    deinit {
        if isOurs { unlink(path) }
    }

    /// Gives the whole file its name. What another program put there in the meantime stays.
    func finish() throws(RecordExport.Fault) {
        guard fsync(descriptor) == 0 else { throw .system(path: name, code: errno) }
        try giveName()
        isOurs = false
    }

    private func giveName() throws(RecordExport.Fault) {
        if clinux_rename_to_new(path, name) == 0 { return }
        switch errno {
        case EEXIST: throw .exists(path: name)
        case EINVAL, ENOSYS:
            // Not every file system can look and rename at once.
            try RecordDraft.checkIsNew(name)
            guard rename(path, name) == 0 else { throw .system(path: name, code: errno) }
        default: throw .system(path: name, code: errno)
        }
    }

    /// - Throws: `RecordExport.Fault.exists` if something is at a path, even a link to nothing.
    static func checkIsNew(_ path: String) throws(RecordExport.Fault) {
        guard faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
            throw .exists(path: path)
        }
    }
}
