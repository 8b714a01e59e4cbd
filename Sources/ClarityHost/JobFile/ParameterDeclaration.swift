public import ClarityScheduler
import Platform
import Glibc

/// A parameter of a job, as written in the file.
struct ParameterDeclaration: Sendable {
    var defaultValue: Field<String>?
    var pattern: Field<String>?

    static let schema = MappingSchema(
        ParameterDeclaration(),
        [
            Key(
                "default", { swap(&$0.defaultValue, &$1) }, .text,
                "value of runs that set none; without it a run starts only by `run --set`"),
            Key(
                "pattern", { swap(&$0.pattern, &$1) }, .line,
                "extended regular expression that a whole value matches; without it any line"),
        ])
}

extension ValueSchema where Value == String {
    /// Reads parameters by their names; the value is the text that `Parameters` make of them.
    static var parameters: ValueSchema {
        let schema = ValueSchema<[NamedField<String, ParameterDeclaration>]>.entries(
            named: .parameterName, of: .parameter)
        return schema.map { fields in
            let all = fields.compactMap { field -> Parameter? in
                guard let name = field.name, let declared = field.field.value else { return nil }
                return Parameter(
                    name, default: declared.defaultValue?.value, pattern: declared.pattern?.value)
            }
            return Parameters(all).optionText
        }
    }

    private static var parameterName: ValueSchema {
        .scalar(.text) { text, node, path, decoding in
            guard isVariableName(Substring(text).utf8), !text.hasPrefix("CLARITY_") else {
                return decoding.fault(
                    node.position, "\(shown(text)) in \(path.text) is no name of a variable",
                    help: "write it in letters, digits and `_`; `CLARITY_` is this program's own")
            }
            return text
        }
    }
}

extension ValueSchema where Value == ParameterDeclaration {
    /// Reads a parameter, whose default matches its pattern. Nothing but the name is fine too.
    fileprivate static var parameter: ValueSchema {
        let mapping = ValueSchema.mapping(ParameterDeclaration.schema)
        return ValueSchema(mapping.description) { node, path, decoding in
            if node.isNull { return ParameterDeclaration() }
            if let value = node.text {
                let isPlain = bracketed(value) != nil
                return decoding.reportMismatch(
                    node, path, mapping.description,
                    help: isPlain ? "write it as `\(path.key): { default: \(value) }`" : nil)
            }
            guard let declared = mapping.decode(node, path, &decoding) else { return nil }
            let pattern = declared.pattern?.value
            do throws(TextPattern.Fault) {
                if let pattern { _ = try TextPattern(pattern) }
            } catch {
                return decoding.fault(
                    declared.pattern?.position ?? node.position,
                    "the pattern of \(path.text) is no regular expression: \(error.reason)")
            }
            guard let field = declared.defaultValue, let value = field.value,
                !Parameter("", pattern: pattern).admits(value)
            else { return declared }
            return decoding.fault(
                field.position,
                "the default of \(path.text) "
                    + (pattern.map { "does not match its pattern \(shown($0))" }
                        ?? "is not one line of at most 4096 bytes"))
        }
    }
}

extension Parameters {
    /// Why values do not fit the parameters of a job.
    public enum Fault: Error, Hashable, Sendable {
        case unknown(name: String)
        case missing(Parameter)
        case unfit(Parameter)

        /// One line, which does not show the value.
        public var reason: String {
            switch self {
            case .unknown(let name): "it has no parameter `\(name)`"
            case .missing(let parameter): "its parameter `\(parameter.name)` has no value"
            case .unfit(let parameter):
                "the value of its parameter `\(parameter.name)` "
                    + (parameter.pattern.map { "does not match `\($0)`" }
                        ?? "is not one line of at most 4096 bytes")
            }
        }
    }

    /// Returns the value of each parameter for a run that sets some of them.
    public func values(_ given: [String: String]) throws(Fault) -> [String: String] {
        let names = Set(all.map(\.name))
        if let name = given.keys.sorted().first(where: { !names.contains($0) }) {
            throw .unknown(name: name)
        }
        var values: [String: String] = [:]
        for parameter in all {
            guard let value = given[parameter.name] ?? parameter.defaultValue else {
                throw .missing(parameter)
            }
            guard parameter.admits(value) else { throw .unfit(parameter) }
            values[parameter.name] = value
        }
        return values
    }
}

extension Parameter {
    fileprivate func admits(_ value: String) -> Bool {
        guard value.utf8.count <= 4096,
            !value.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { return false }
        guard let pattern else { return true }
        do throws(TextPattern.Fault) {
            return try TextPattern(pattern).matches(value)
        } catch {
            return false
        }
    }
}

/// An extended regular expression, as regex(7) has them, that whole texts match.
struct TextPattern: ~Copyable {
    private var compiled = regex_t()

    /// Why a text is no regular expression, in the words of regerror(3).
    struct Fault: Error {
        var reason: String
    }

    /// Compiles a regular expression.
    init(_ text: String) throws(Fault) {
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
    func matches(_ text: String) -> Bool {
        var match = regmatch_t()
        return withUnsafePointer(to: compiled) { compiled in
            // Of the matches that begin first, POSIX finds the longest one.
            regexec(compiled, text, 1, &match, 0) == 0
                && match.rm_so == 0 && Int(match.rm_eo) == text.utf8.count
        }
    }
}
