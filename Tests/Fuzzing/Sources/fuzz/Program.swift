@preconcurrency import Glibc

@testable import FuzzProperties

/// `FUZZ_TARGET=NAME fuzz [OPTION...] [CORPUS...]`: passes libFuzzer's inputs to a target's check.
///
/// It runs until an option ends it, or for ever. An input that breaks a property ends the program
/// like a crash. The target's name is an environment variable because libFuzzer, to merge, starts
/// the program again with libFuzzer's own arguments only.
@main
struct Program {
    static func main() {
        let name = getenv("FUZZ_TARGET").map { String(cString: $0) }
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            fputs("FUZZ_TARGET: \(FuzzTarget.all.map(\.name).joined(separator: "|"))\n", stderr)
            exit(64)
        }
        do {
            check = try target.makeCheck()
        } catch {
            give(up: "cannot begin: \(error)")
        }
        var count = CommandLine.argc
        var arguments: Arguments = CommandLine.unsafeArgv
        let status = runFuzzer(&count, &arguments) { bytes, count in
            do {
                try check(UnsafeBufferPointer(start: bytes, count: count))
            } catch {
                give(up: "does not hold: \(error)")
            }
            return 0
        }
        exit(status)
    }
}

/// The check for each input. Set once, before the first; libFuzzer calls from this thread only.
nonisolated(unsafe) private var check: FuzzTarget.Check = { _ in }

private func give(up why: String) -> Never {
    fputs("\(why)\n", stderr)
    abort()
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// libFuzzer's own main function, which takes the function to test.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<Arguments>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
