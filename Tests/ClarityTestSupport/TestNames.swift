public import ClarityScheduler
public import Testing

// Names for the cases of parameterised tests. Without them, a case is called after every property
// of its arguments.

/// A text whose case is called after its beginning and its length.
public struct LongText: ExpressibleByStringLiteral, Sendable, CustomTestStringConvertible {
    public let text: String

    /// Creates a long text of one that is repeated.
    public init(_ text: String, times count: Int = 1) {
        self.text = String(repeating: text, count: count)
    }

    public init(stringLiteral text: String) { self.text = text }

    public var testDescription: String {
        let beginning = text.prefix(60).debugDescription
        return text.count > 60 ? "\(beginning)... (\(text.count) characters)" : beginning
    }
}

extension AttemptEnd: CustomTestStringConvertible {
    public var testDescription: String { result.testDescription }
}

extension AttemptEnd.Result: CustomTestStringConvertible {
    public var testDescription: String {
        switch self {
        case .reported(let outcome): "reported \(outcome.testDescription)"
        case .broke(let fault): "broke: \(fault)"
        }
    }
}

extension Outcome: CustomTestStringConvertible {
    public var testDescription: String {
        switch self {
        case .success: "success"
        case .retry(let span, let failure):
            "retry\(span.map { " after \($0.text)" } ?? ""): \(failure.reason)"
        case .snooze(let span, let failure): "snooze for \(span.text): \(failure.reason)"
        case .awaits(let condition, let failure): "awaits \(condition): \(failure.reason)"
        case .failure(let failure): "failure: \(failure.reason)"
        }
    }
}
