/// Finds the bytes of an array's elements in a document, so that rows are stored as they were
/// received.
///
/// The document must be one that a JSON decoder has accepted. In other bytes the result is
/// arbitrary, but nothing beyond them is read.
struct JSONSlices {
    private let bytes: [UInt8]
    private var position = 0

    /// Returns the elements of the array at `path`; `nil` if there is no array.
    static func elements(of document: [UInt8], at path: [String]) -> [ArraySlice<UInt8>]? {
        var slices = JSONSlices(bytes: document)
        for key in path {
            guard slices.enter(key) else { return nil }
        }
        return slices.elements()
    }

    /// Returns the bytes of the value at `path`; `nil` if there is none.
    static func value(of document: [UInt8], at path: [String]) -> ArraySlice<UInt8>? {
        var slices = JSONSlices(bytes: document)
        for key in path {
            guard slices.enter(key) else { return nil }
        }
        guard slices.peek() != nil else { return nil }
        let start = slices.position
        slices.skipValue()
        return slices.position > start ? document[start..<slices.position] : nil
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Moves to the value of `key` in the object at the position; `false` if there is none.
    private mutating func enter(_ key: String) -> Bool {
        guard take("{") else { return false }
        while peek() == UInt8(ascii: "\"") {
            let start = position
            skipString()
            let isWanted = bytes[start..<position].elementsEqual("\"\(key)\"".utf8)
            guard take(":") else { return false }
            if isWanted { return true }
            skipValue()
            guard take(",") else { return false }
        }
        return false
    }

    private mutating func elements() -> [ArraySlice<UInt8>]? {
        guard take("[") else { return nil }
        var elements: [ArraySlice<UInt8>] = []
        while let byte = peek(), byte != UInt8(ascii: "]") {
            let start = position
            skipValue()
            guard position > start else { return nil }
            elements.append(bytes[start..<position])
            guard take(",") else { break }
        }
        return take("]") ? elements : nil
    }

    /// Moves behind the white space and the value at the position.
    private mutating func skipValue() {
        var depth = 0
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                if depth == 0 { return }
                position += 1
                continue
            default: skipWord()
            }
            if depth == 0 { return }
        }
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\\"): position = min(position + 2, bytes.count)
            case UInt8(ascii: "\""):
                position += 1
                return
            default: position += 1
            }
        }
    }

    private mutating func skipWord() {
        while position < bytes.count, !" \t\r\n,:]}\"{[".utf8.contains(bytes[position]) {
            position += 1
        }
    }

    /// Returns the next byte that is not white space; `nil` at the end.
    private mutating func peek() -> UInt8? {
        while position < bytes.count, " \t\r\n".utf8.contains(bytes[position]) { position += 1 }
        return position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}
