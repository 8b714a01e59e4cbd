import FoundationEssentials

/// The content of a refusal by the backend: its code, and the metrics, fields and fault codes it
/// names.
///
/// This is the one reader for refusals of every shape. It reads `validation_errors` or `errors`
/// with fields such as `metrics[3].metric_id`, `detail` with locations such as
/// `["body", "metrics", 3, "metric_id"]`, and the code of a problem at the top, under `detail` or
/// under `error`. Of a sentence it reveals only how it begins, and what `ServerWords` leaves of it.
/// It never reads the echo of the input. Both can hold health values.
struct FaultReport {
    /// The largest body that is read: 1 MiB. A refusal that echoes a full upload is smaller.
    static let largestBody = 1 << 20
    /// The most faults that are read.
    static let mostFaults = 10_000

    /// One fault, and the metric that has it.
    struct Fault: Hashable {
        var index: Int
        var field: String
        var code: String
        /// The backend's sentence about the fault, without numbers and quotations.
        var words: String?

        /// Whether the backend says that it already has this metric.
        var isDuplicate: Bool {
            ["duplicate", "exists"].contains { code.lowercased().contains($0) }
        }

        /// Whether the backend gave a code for the fault.
        var hasCode: Bool { code != FaultReport.unnamed }
    }

    private(set) var faults: [Fault] = []
    /// The backend's code for the refusal; `nil` if it gives none that is a name.
    private(set) var code: String?
    /// Whether the refusal names the time of sending, which belongs to no metric.
    private(set) var namesSendingTime = false
    /// Whether the body is a JSON object.
    private(set) var isJSON = false
    /// The backend's sentence about the refusal as a whole, else its first one about a fault;
    /// without numbers and quotations.
    private(set) var words: String?
    private var sentence = ""

    /// The metrics that the refusal names, ascending, without repeats.
    var indices: [Int] { indices { _ in true } }

    /// Returns the metrics that it names with a wanted fault, ascending, without repeats.
    func indices(where isWanted: (Fault) -> Bool) -> [Int] {
        Set(faults.filter(isWanted).map(\.index)).sorted()
    }

    /// Reads a refusal's body; a body of any other shape names nothing.
    init(_ body: [UInt8]) {
        guard body.count <= FaultReport.largestBody,
            let wire = lenient({ try JSONDecoder().decode(Wire.self, from: Data(body)) })
        else { return }
        faults = FaultReport(wire.items).faults
        namesSendingTime = wire.items.prefix(FaultReport.mostFaults).contains { item in
            [["client_timestamp"], ["body", "client_timestamp"]].contains(item.path)
        }
        isJSON = true
        code = wire.code.map(FaultReport.name).flatMap { $0 == FaultReport.unnamed ? nil : $0 }
        sentence = wire.sentence ?? ""
        words =
            ServerWords.redacted(sentence)
            ?? wire.items.prefix(FaultReport.mostFaults).lazy.compactMap(\.words).first
    }

    /// Whether the backend's sentence begins with `words`.
    func begins(with words: String) -> Bool { sentence.utf8.starts(with: words.utf8) }

    /// Reads faults that were decoded as part of an answer.
    init(_ items: [Item]) {
        faults = items.prefix(FaultReport.mostFaults).compactMap { item in
            let path = item.path
            guard path.first == "metrics" || path.first == "body",
                let metrics = path.firstIndex(of: "metrics"),
                metrics + 1 < path.endIndex, let index = Int(path[metrics + 1]), index >= 0
            else { return nil }
            let field = path[(metrics + 2)...].joined(separator: ".")
            return Fault(
                index: index, field: FaultReport.name(field), code: item.code, words: item.words)
        }
    }

    /// A fault as it is on the wire.
    struct Item: Decodable {
        let path: [String]
        let code: String
        let words: String?

        private enum CodingKeys: String, CodingKey {
            case field
            case loc
            case code
            case type
            case message
            case msg
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            words =
                (lenient { try fields.decode(String.self, forKey: .message) }
                ?? lenient { try fields.decode(String.self, forKey: .msg) })
                .flatMap(ServerWords.redacted)
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
        let code: String?
        let sentence: String?

        private enum CodingKeys: String, CodingKey {
            case validationErrors = "validation_errors"
            case errors
            case detail
            case error
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            func text(_ key: CodingKeys) -> String? {
                lenient { try fields.decode(String.self, forKey: key) }
            }
            items = [.validationErrors, .errors, .detail].flatMap { (key: CodingKeys) in
                lenient { try fields.decode([Item].self, forKey: key) } ?? []
            }
            let problems = [
                lenient { try fields.decode(Problem.self, forKey: .detail) },
                lenient { try fields.decode(Problem.self, forKey: .error) },
                lenient { try Problem(from: decoder) },
            ].compactMap { $0 }
            code = problems.lazy.compactMap(\.code).first ?? text(.error)
            sentence = text(.detail) ?? problems.lazy.compactMap(\.sentence).first
        }
    }

    /// A problem object, under whichever names it has its parts.
    private struct Problem: Decodable {
        let code: String?
        let sentence: String?

        private enum CodingKeys: String, CodingKey {
            case code, type, detail, error, message
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            func first(_ keys: CodingKeys...) -> String? {
                keys.lazy.compactMap { key in
                    lenient { try fields.decode(String.self, forKey: key) }
                }.first
            }
            code = first(.code, .type)
            sentence = first(.detail, .error, .message)
        }
    }

    /// Returns `text` if it is a name such as `activity_data.vo2_max`, otherwise `unnamed`.
    ///
    /// A server's word for a field or a code could be the value that it refuses, or contain it. So
    /// a name begins with a letter and has no two digits in a row.
    static func name(_ text: String) -> String {
        let isNumber = zip(text.utf8, text.utf8.dropFirst()).contains { first, second in
            (0x30...0x39).contains(first) && (0x30...0x39).contains(second)
        }
        return text.first?.isLetter == true && !isNumber ? plain(text) ?? unnamed : unnamed
    }

    /// Returns `text` if it consists of 1 to 80 ASCII letters, digits, dots, dashes and
    /// underscores.
    static func plain(_ text: String) -> String? {
        let isPlain =
            (1...80).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "._-".utf8.contains(byte)
                }
            }
        return isPlain ? text : nil
    }

    private static let unnamed = "unnamed"
}

/// Returns the result of `read`, or `nil` if it throws.
///
/// For values that a backend may leave out or write differently, if only their absence follows.
private func lenient<Value>(_ read: () throws -> Value) -> Value? {
    do { return try read() } catch { return nil }
}
