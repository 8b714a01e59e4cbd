import JSON

/// A value of an answer, and the bytes that replace it.
struct Tampering: CustomStringConvertible {
    /// The member names and indices that lead to the value; empty for the whole answer.
    var path: [String]
    var name: String
    /// The replacement, which need not be JSON.
    var bytes: [UInt8]

    var description: String { "\(path.joined(separator: "."))=\(name)" }

    /// The replacements for a value, by name.
    static let values: [(name: String, text: String)] = [
        ("null", "null"), ("true", "true"), ("beyond-double", "1e400"),
        ("almost-infinite", "1e308"),
        ("negative", "-1"), ("past-64-bits", "9223372036854775808"), ("empty", "\"\""),
        ("long", "\"\(String(repeating: "x", count: 1 << 20))\""), ("list", "[]"), ("object", "{}"),
        ("deep", String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)),
        ("open", String(repeating: "{\"a\":", count: 100_000)), ("path", "\"../../etc/passwd\""),
        ("steers", "\"\\u001b]0;x\\u0007\\u009b31m\\u202e\\r\\n\\u0000\""),
        ("far", "\"292277026596-12-04T15:30:08Z\""), ("end", "\"9999-12-31T23:59:59.999Z\""),
        ("half-pair", "\"\\ud800\""), ("not-a-number", "NaN"), ("nothing", ""),
    ]

    /// Returns one tampering for every value of an answer and every replacement.
    static func all(of body: [UInt8]) -> [Tampering] {
        guard let json = parsed(body) else { return [] }
        return paths(of: json).flatMap { path in
            values.map { Tampering(path: path, name: $0.name, bytes: Array($0.text.utf8)) }
        }
    }

    /// Returns the answer with the value replaced, or unchanged if it has no such value.
    func applied(to body: [UInt8]) -> [UInt8] {
        guard let json = Tampering.parsed(body) else { return body }
        let mark = "@@here@@"
        let marked = Tampering.replacing(path[...], in: json, with: .string(mark)).bytes
        guard let place = marked.firstRange(of: Array("\"\(mark)\"".utf8)) else { return body }
        return marked[..<place.lowerBound] + bytes + marked[place.upperBound...]
    }

    /// Returns the answer with `text` appended to every string outside the members `names`.
    static func appending(_ text: String, to body: [UInt8], except names: Set<String>) -> [UInt8] {
        guard let json = parsed(body) else { return body }
        func changed(_ json: JSON) -> JSON {
            switch json {
            case .string(let string): .string(string + text)
            case .array(let elements): .array(elements.map(changed))
            case .object(let members):
                .object(
                    members.map { member in
                        JSON.Member(
                            name: member.name,
                            value: names.contains(member.name)
                                ? member.value : changed(member.value))
                    })
            default: json
            }
        }
        return changed(json).bytes
    }

    private static func parsed(_ body: [UInt8]) -> JSON? {
        do throws(JSONFault) { return try JSONParser.parse(body) } catch { return nil }
    }

    private static func paths(of json: JSON) -> [[String]] {
        var paths: [[String]] = [[]]
        switch json {
        case .object(let members):
            for member in members {
                paths += Tampering.paths(of: member.value).map { [member.name] + $0 }
            }
        // The first row stands for all rows.
        case .array(let elements):
            for element in elements.prefix(1) {
                paths += Tampering.paths(of: element).map { ["0"] + $0 }
            }
        default: break
        }
        return paths
    }

    private static func replacing(
        _ path: ArraySlice<String>, in json: JSON, with other: JSON
    ) -> JSON {
        guard let first = path.first else { return other }
        switch json {
        case .object(let members):
            return .object(
                members.map { member in
                    member.name == first
                        ? JSON.Member(
                            name: first,
                            value: replacing(path.dropFirst(), in: member.value, with: other))
                        : member
                })
        case .array(let elements):
            return .array(
                elements.enumerated().map { place, element in
                    String(place) == first
                        ? replacing(path.dropFirst(), in: element, with: other) : element
                })
        default: return json
        }
    }
}
