import Backend
import HealthStore
import Import
import JSON

extension AnalysisResult {
    /// The longest name of a number, in bytes.
    private static let longestName = 64

    /// Reads the result of an analysis from the answer of any dialect.
    ///
    /// The numbers are under `pat_features`, at the top or inside `analysis`, else in `analysis`
    /// itself. The embedding of the movement is under `activity_embedding` or `embedding`.
    ///
    /// Members that are not numbers, or whose names are not plain, are ignored. If there are more
    /// than `mostNumbers`, the first in the order of their names are taken.
    init(of analysis: Analysis) {
        let answer: JSON
        do {
            answer = try JSONParser.parse(analysis.json)
        } catch {
            answer = .null
        }
        let inner = answer.member("analysis")
        let named = answer.member("pat_features") ?? inner?.member("pat_features") ?? inner
        let point =
            answer.member("activity_embedding") ?? inner?.member("activity_embedding")
            ?? inner?.member("embedding")
        self.init(
            numbers: AnalysisResult.numbers(named), embedding: AnalysisResult.point(point),
            json: analysis.json.count <= AnalysisResult.largestJSON ? analysis.json : [])
    }

    private static func numbers(_ json: JSON?) -> [String: Double] {
        guard case .object(let members)? = json else { return [:] }
        var numbers: [String: Double] = [:]
        for member in members.sorted(by: { $0.name < $1.name })
        where numbers.count < mostNumbers && !member.name.isEmpty
            && member.name.isPlainName(atMost: longestName)
        {
            if let number = member.value.finiteNumber { numbers[member.name] = number }
        }
        return numbers
    }

    private static func point(_ json: JSON?) -> [Double] {
        guard case .array(let elements)? = json, elements.count <= longestEmbedding else {
            return []
        }
        let numbers = elements.compactMap(\.finiteNumber)
        return numbers.count == elements.count ? numbers : []
    }
}

extension JSON {
    /// Returns the member's value; `nil` if it is missing or null.
    fileprivate func member(_ name: String) -> JSON? {
        self[name].flatMap { $0 == .null ? nil : $0 }
    }

    fileprivate var finiteNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number) where number.isFinite: number
        default: nil
        }
    }
}
