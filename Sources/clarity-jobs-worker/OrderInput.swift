import ClarityScheduler
import HealthStore
@preconcurrency import Glibc

/// Reads the order that every mode gets: on descriptor 3, up to its line `end`.
///
/// The standard input is the person's, who may type a password there.
enum OrderInput {
    static let descriptor: Int32 = 3

    /// Returns the order; `nil` if it is faulty, after writing why to the error output.
    ///
    /// Reads byte by byte: what follows the order is not its own.
    ///
    /// - Parameter isOfScheduler: whether a scheduler keeps the descriptor open behind the order.
    ///   Otherwise the end of the input may stand for the last line, and the descriptor is closed.
    static func read(isOfScheduler: Bool = false) -> AttemptOrder? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        var lines: [String] = []
        while lines.last != "end" {
            let count = Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count == 1, byte != UInt8(ascii: "\n") {
                bytes.append(byte)
                continue
            }
            guard count == 1 || !isOfScheduler else {
                complain("no whole order on descriptor \(descriptor)")
                return nil
            }
            if count == 1 || !bytes.isEmpty { lines.append(String(decoding: bytes, as: UTF8.self)) }
            bytes.removeAll(keepingCapacity: true)
            guard count == 1 else { break }
        }
        if !isOfScheduler { close(descriptor) }
        do {
            return try AttemptOrder(lines: lines)
        } catch {
            complain("the order on descriptor \(descriptor) is faulty: expected \(error.expected)")
            return nil
        }
    }
}

extension AttemptOrder {
    /// The sections of the job file that the order carries.
    var sections: SectionValues { SectionValues(options) }
}
