public import HealthModel
import ClarityScheduler

/// The result of an analysis.
public struct AnalysisResult: Hashable, Sendable, PrivateValue {
    /// The maximum number of named numbers that are stored.
    public static let mostNumbers = 64
    /// The longest embedding that is stored.
    public static let longestEmbedding = 4096
    /// The largest JSON that is stored, in bytes.
    public static let largestJSON = 1 << 20

    /// The numbers by name, all finite.
    public var numbers: [String: Double]
    /// The movement's embedding in the model's space; may be empty.
    public var embedding: [Double]
    /// The whole answer as received.
    public var json: [UInt8]

    /// Creates a result.
    public init(numbers: [String: Double], embedding: [Double] = [], json: [UInt8]) {
        self.numbers = numbers
        self.embedding = embedding
        self.json = json
    }

    var sealedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(sealed: numbers)
        bytes.append(littleEndian: UInt32(embedding.count))
        for number in embedding { bytes.append(littleEndian: number.bitPattern) }
        return bytes + json
    }

    init?(sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
        guard let numbers = reader.numbers(), let count = reader.number(UInt32.self) else {
            return nil
        }
        var embedding: [Double] = []
        for _ in 0..<count {
            guard let bits = reader.number(UInt64.self) else { return nil }
            embedding.append(Double(bitPattern: bits))
        }
        self.init(numbers: numbers, embedding: embedding, json: reader.rest)
    }
}

extension [UInt8] {
    /// Appends the numbers with their names, sorted by name.
    mutating func append(sealed numbers: [String: Double]) {
        append(littleEndian: UInt16(clamping: numbers.count))
        for (name, number) in numbers.sorted(by: { $0.key < $1.key }).prefix(Int(UInt16.max)) {
            append(field: name)
            append(littleEndian: number.bitPattern)
        }
    }
}

extension ByteReader {
    mutating func numbers() -> [String: Double]? {
        guard let count = number(UInt16.self) else { return nil }
        var numbers: [String: Double] = [:]
        for _ in 0..<count {
            guard let name = field(), let bits = number(UInt64.self) else { return nil }
            numbers[name] = Double(bitPattern: bits)
        }
        return numbers
    }
}
