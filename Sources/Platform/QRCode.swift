@preconcurrency import Glibc

/// A QR code (ISO/IEC 18004), which a phone's camera reads from a terminal.
///
/// libqrencode makes it. The library is loaded when the first code is made, and never linked: hardly
/// a start of a program needs it.
public struct QRCode {
    /// Why there is no code.
    public enum Fault: Error, Hashable, CustomStringConvertible {
        case noLibrary
        /// The text is longer than a code can have, or there is no memory.
        case refused
        case tooNarrow(columns: Int, wanted: Int)

        public var description: String {
            switch self {
            case .noLibrary: "the package libqrencode4 is not installed"
            case .refused: "the text is too long for one"
            case .tooNarrow(let columns, let wanted):
                "the terminal has \(columns) columns, and it needs \(wanted)"
            }
        }
    }

    private typealias Encode =
        @convention(c) (
            Int32, UnsafePointer<UInt8>, Int32, Int32
        ) -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void

    /// The margin that readers need, in modules.
    private static let margin = 4

    /// The modules on one side, without the margin.
    private let width: Int
    private let isBlack: [Bool]

    /// Makes the code of a text, which corrects damage of 7 %.
    public init(_ text: String) throws(Fault) {
        // The soname fixes the types of these functions, as qrencode.h has them.
        guard let library = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL),
            let encode = dlsym(library, "QRcode_encodeData"),
            let free = dlsym(library, "QRcode_free")
        else { throw .noLibrary }
        let bytes = Array(text.utf8)
        let made = unsafeBitCast(encode, to: Encode.self)(Int32(bytes.count), bytes, 0, 0)
        guard let made else { throw .refused }
        defer { unsafeBitCast(free, to: Free.self)(made) }
        // `QRcode` has the version, the width, and a byte for each module, row by row. The lowest bit
        // of a black one is set.
        width = Int(made.load(fromByteOffset: 4, as: Int32.self))
        let modules = made.load(fromByteOffset: 8, as: UnsafePointer<UInt8>.self)
        isBlack = (0..<width * width).map { modules[$0] & 1 == 1 }
    }

    /// Returns lines with two rows of modules each, black on white whatever the terminal's colours
    /// are.
    ///
    /// - Parameter columns: those of the terminal; `nil` if it does not say.
    public func text(columns: Int?) throws(Fault) -> String {
        let side = width + 2 * QRCode.margin
        if let columns, columns < side { throw .tooNarrow(columns: columns, wanted: side) }
        return stride(from: 0, to: side, by: 2).map { row in
            let line = (0..<side).map { column in
                switch (isBlack(row, column), isBlack(row + 1, column)) {
                case (false, false): " "
                case (true, false): "\u{2580}"
                case (false, true): "\u{2584}"
                case (true, true): "\u{2588}"
                }
            }.joined()
            return "\u{1B}[38;5;16;48;5;231m\(line)\u{1B}[0m\n"
        }.joined()
    }

    private func isBlack(_ row: Int, _ column: Int) -> Bool {
        let (row, column) = (row - QRCode.margin, column - QRCode.margin)
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return isBlack[row * width + column]
    }
}
