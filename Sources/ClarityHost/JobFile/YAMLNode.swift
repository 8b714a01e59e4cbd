import ClaritySystem

/// A node of a YAML document with its position.
struct YAMLNode: Hashable, Sendable {
    /// A position in the file; line and column count from 1, the column in characters.
    struct Position: Hashable, Comparable, Sendable {
        var line: Int
        var column: Int
        /// Whether this is the position of a key: its mapping may begin at the same place.
        var isKey = false

        static func < (a: Position, b: Position) -> Bool {
            (a.line, a.column) < (b.line, b.column)
        }
    }

    /// A key of a mapping and its value.
    struct Entry: Hashable, Sendable {
        var key: String
        var keyPosition: Position
        var value: YAMLNode
    }

    /// The kind and contents of a node.
    enum Content: Hashable, Sendable {
        /// Text; `isPlain` is true without quotes, so that `true` is a boolean.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        /// Entries in the order of the file, with unique keys.
        case mapping([Entry])
    }

    var position: Position
    var content: Content

    /// The noun for this node, for people: `a mapping`, `a list`, `a number`, `text`.
    var noun: String {
        switch content {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .scalar(_, isPlain: false): "text"
        case .scalar where isNull: "empty"
        case .scalar("true", _), .scalar("false", _): "a boolean"
        case .scalar(let text, _): Int(text) == nil ? "text" : "a number"
        }
    }

    /// Whether the node has no value: it is empty, `~` or `null` without quotes.
    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return text.isEmpty || text == "~" || text == "null"
    }

    /// Returns the value of `key`, if this is a mapping that has it.
    subscript(key: String) -> YAMLNode? {
        guard case .mapping(let entries) = content else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The text, if this is a scalar with a value.
    var text: String? {
        guard case .scalar(let text, _) = content, !isNull else { return nil }
        return text
    }
}

extension YAMLNode {
    /// Returns the paths of the keys and values at some positions, such as `jobs[2].schedule.cron`.
    ///
    /// The root has no path, and neither has a position without a key or value.
    func paths(of places: Set<Position>) -> [Position: String] {
        var paths: [Position: String] = [:]
        collect(places, at: "", into: &paths)
        return paths
    }

    private func collect(
        _ places: Set<Position>, at path: String, into paths: inout [Position: String]
    ) {
        if !path.isEmpty, places.contains(position) { paths[position] = path }
        switch content {
        case .scalar: break
        case .sequence(let nodes):
            for (index, node) in nodes.enumerated() {
                node.collect(places, at: "\(path)[\(index)]", into: &paths)
            }
        case .mapping(let entries):
            for entry in entries {
                let key = printable(entry.key)
                let inner = path.isEmpty ? key : "\(path).\(key)"
                if places.contains(entry.keyPosition) { paths[entry.keyPosition] = inner }
                entry.value.collect(places, at: inner, into: &paths)
            }
        }
    }
}
