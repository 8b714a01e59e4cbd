import Glibc

/// Hands texts that libFuzzer makes up to the scanner, for ever or as long as its arguments say.
@main
struct Program {
    static func main() {
        var count = CommandLine.argc
        var arguments: Arguments = CommandLine.unsafeArgv
        exit(
            runFuzzer(&count, &arguments) { bytes, count in
                ScannerProperties.check(UnsafeBufferPointer(start: bytes, count: count))
                return 0
            })
    }
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// libFuzzer's own main function, which takes what is to be tried.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
