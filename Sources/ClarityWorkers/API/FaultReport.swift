import FoundationEssentials

/// What a backend's refusal names: which metrics, by which field and code.
///
/// Reads `validation_errors` or `errors` with fields such as `metrics[3].metric_id`, and `detail`
/// with locations such as `["body", "metrics", 3, "metric_id"]`. Nothing else of a refusal is
/// looked at: its sentences and its echo of the input hold health values.
struct FaultReport {
    /// One fault, with the metric that it is about.
    struct Fault: Hashable {
        var index: Int
        var field: String
        var code: String

        /// Whether the backend says that it has this metric already.
        var isDuplicate: Bool {
            ["duplicate", "exists"].contains { code.lowercased().contains($0) }
        }

        /// Whether the backend gave a code for the fault.
        var hasCode: Bool { code != FaultReport.unnamed }
    }

    private(set) var faults: [Fault] = []

    /// The metrics that are named, rising, each once.
    var indices: [Int] { indices { _ in true } }

    /// The metrics that are named with a fault of some kind, rising, each once.
    func indices(where isWanted: (Fault) -> Bool) -> [Int] {
        Set(faults.filter(isWanted).map(\.index)).sorted()
    }

    /// Reads a refusal's body; a body of any other shape names nothing.
    init(_ body: [UInt8]) {
        self.init(lenient { try JSONDecoder().decode(Wire.self, from: Data(body)).items } ?? [])
    }

    /// Reads faults that were decoded with an answer.
    init(_ items: [Item]) {
        faults = items.compactMap { item in
            let path = item.path
            guard path.first == "metrics" || path.first == "body",
                let metrics = path.firstIndex(of: "metrics"),
                metrics + 1 < path.endIndex, let index = Int(path[metrics + 1]), index >= 0
            else { return nil }
            let field = path[(metrics + 2)...].joined(separator: ".")
            return Fault(index: index, field: FaultReport.name(field), code: item.code)
        }
    }

    /// A fault as the wire has it.
    struct Item: Decodable {
        let path: [String]
        let code: String

        private enum CodingKeys: String, CodingKey {
            case field
            case loc
            case code
            case type
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            let parts = lenient { try fields.decode([Part].self, forKey: .loc) }
            let field = lenient { try fields.decode(String.self, forKey: .field) } ?? ""
            path = (parts?.map(\.text) ?? [field]).flatMap {
                $0.split { "[].".contains($0) }.map(String.init)
            }
            let code =
                lenient { try fields.decode(String.self, forKey: .code) }
                ?? lenient { try fields.decode(String.self, forKey: .type) }
            self.code = FaultReport.name(code ?? "")
        }
    }

    private struct Part: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            text =
                if let number = lenient({ try value.decode(Int.self) }) {
                    String(number)
                } else {
                    try value.decode(String.self)
                }
        }
    }

    private struct Wire: Decodable {
        let items: [Item]

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case validationErrors = "validation_errors"
            case errors
            case detail
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            items = CodingKeys.allCases.flatMap { key in
                lenient { try fields.decode([Item].self, forKey: key) } ?? []
            }
        }
    }

    /// `text` when it is a name such as `activity_data.steps`, else a word in its place: what a
    /// server calls a field or a code could as well be the value that it refuses.
    private static func name(_ text: String) -> String {
        let isName =
            text.utf8.count <= 80 && text.first?.isLetter == true
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "._-".utf8.contains(byte)
                }
            }
        return isName ? text : unnamed
    }

    private static let unnamed = "unnamed"
}

/// What `read` gives, or `nil` when it cannot: for what a backend may leave out or write in a way of
/// its own, where nothing but its absence follows.
private func lenient<Value>(_ read: () throws -> Value) -> Value? {
    do { return try read() } catch { return nil }
}
