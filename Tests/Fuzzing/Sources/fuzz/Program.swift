@preconcurrency import Glibc

@testable import FuzzProperties

/// `fuzz TARGET [OPTION...] [CORPUS...]`: hands texts that libFuzzer makes up to a target's check,
/// for ever or as long as its options say. A text that breaks a property ends the program as a
/// crash does.
@main
struct Program {
    static func main() {
        let words = CommandLine.arguments
        guard words.count > 1, let target = FuzzTarget.all.first(where: { $0.name == words[1] })
        else {
            fputs("usage: fuzz \(FuzzTarget.all.map(\.name).joined(separator: "|"))\n", stderr)
            exit(64)
        }
        do {
            check = try target.makeCheck()
        } catch {
            give(up: "cannot begin: \(error)")
        }
        // The target's name is none of libFuzzer's own arguments.
        var arguments =
            [CommandLine.unsafeArgv[0]]
            + (2..<words.count).map {
                CommandLine.unsafeArgv[$0]
            }
        arguments.append(nil)
        var count = Int32(arguments.count - 1)
        let status = arguments.withUnsafeMutableBufferPointer { arguments in
            var start = arguments.baseAddress
            return runFuzzer(&count, &start) { bytes, count in
                do {
                    try check(UnsafeBufferPointer(start: bytes, count: count))
                } catch {
                    give(up: "does not hold: \(error)")
                }
                return 0
            }
        }
        exit(status)
    }
}

/// What is done with each text. Set once, before the first; libFuzzer calls from this thread alone.
nonisolated(unsafe) private var check: FuzzTarget.Check = { _ in }

private func give(up why: String) -> Never {
    fputs("\(why)\n", stderr)
    abort()
}

/// libFuzzer's own main function, which takes what is to be tried.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
