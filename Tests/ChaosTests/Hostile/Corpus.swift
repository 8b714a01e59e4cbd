import ClarityTestSupport
@preconcurrency import Glibc

/// The stored texts of a fuzz target, and the words of its dictionary.
struct Corpus {
    /// The texts with the names of their files, sorted by name.
    let texts: [(name: String, bytes: [UInt8])]
    let words: [[UInt8]]

    /// The largest number of files, and of their bytes, that may be stored for a target.
    static let mostFiles = 40
    static let mostBytes = 200 << 10

    /// Reads both from Tests/Fuzzing, which is found relative to this source file.
    init(of target: String) throws {
        let tests = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let folder = "/\(tests)/Fuzzing"
        let names = try Corpus.names(in: "\(folder)/Corpora/\(target)")
        texts = try names.map { name in
            (name, try TemporaryFolder.read("\(folder)/Corpora/\(target)/\(name)"))
        }
        let dictionary = String(
            decoding: try TemporaryFolder.read("\(folder)/Dictionaries/\(target).dict"),
            as: UTF8.self)
        words = dictionary.split(separator: "\n").compactMap(Corpus.word)
    }

    /// Returns the sorted names in a folder, without hidden ones.
    private static func names(in folder: String) throws -> [String] {
        guard let listing = opendir(folder) else { throw TemporaryFolder.Errno(code: errno) }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Returns the bytes between the quotation marks of a dictionary line, or `nil` for other
    /// lines.
    private static func word(_ line: Substring) -> [UInt8]? {
        guard !line.hasPrefix("#"), let first = line.utf8.firstIndex(of: 0x22),
            let last = line.utf8.lastIndex(of: 0x22), first < last
        else { return nil }
        var word: [UInt8] = []
        var rest = line.utf8[line.utf8.index(after: first)..<last]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                word.append(byte)
                continue
            }
            if next == UInt8(ascii: "x"), let code = UInt8(String(rest.prefix(2)) ?? "", radix: 16)
            {
                word.append(code)
                rest = rest.dropFirst(2)
            } else {
                word.append(next)
            }
        }
        return word
    }
}
