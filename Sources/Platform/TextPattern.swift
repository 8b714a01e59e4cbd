import Glibc

/// An extended regular expression, as regex(7) has them, that whole texts match.
public struct TextPattern: ~Copyable {
    private var compiled = regex_t()

    /// Why a text is no regular expression, in the words of regerror(3).
    public struct Fault: Error {
        public var reason: String
    }

    /// Compiles a regular expression.
    public init(_ text: String) throws(Fault) {
        let code = regcomp(&compiled, text, REG_EXTENDED)
        guard code == 0 else {
            var words = [UInt8](repeating: 0, count: 200)
            let length = words.withUnsafeMutableBytes {
                regerror(
                    code, &compiled, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
            }
            let text = words.prefix(min(length, words.count)).prefix { $0 != 0 }
            throw Fault(reason: String(decoding: text, as: UTF8.self).lowercased())
        }
    }

    deinit {
        var compiled = compiled
        regfree(&compiled)
    }

    /// Whether the whole text matches. Letters count by their bytes, as in the C locale.
    public func matches(_ text: String) -> Bool {
        var match = regmatch_t()
        return withUnsafePointer(to: compiled) { compiled in
            // Of the matches that begin first, POSIX finds the longest one.
            regexec(compiled, text, 1, &match, 0) == 0
                && match.rm_so == 0 && Int(match.rm_eo) == text.utf8.count
        }
    }
}
