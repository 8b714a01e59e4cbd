public import JSON
public import HealthModel
public import ClarityScheduler

/// A result of a command, each field of which is declared once.
///
/// The table, the CSV, the JSON, the JSON Schema and the reference in docs/json.md follow from the
/// columns.
public struct Report<Row>: Sendable {
    /// The columns in the order of the JSON.
    public let columns: [Column<Row>]
    /// The name of the object in the JSON Schema; `nil` for an object of one result only.
    public let name: String?
    private let omitsNulls: Bool
    private let tableOrder: [String]

    /// Declares a report.
    ///
    /// - Parameters:
    ///   - name: the name of an object that occurs in several results.
    ///   - omitsNulls: whether the object leaves out fields without a value; otherwise they are
    ///     null.
    ///   - tableOrder: headings in the order of the table, if that is not the order of the JSON.
    ///     Other columns of the table follow.
    public init(
        _ columns: [Column<Row>], name: String? = nil, omitsNulls: Bool = false,
        tableOrder: [String] = []
    ) {
        self.columns = columns
        self.name = name
        self.omitsNulls = omitsNulls
        self.tableOrder = tableOrder
    }

    /// Returns a row as a JSON object.
    public func object(_ row: Row) -> JSON {
        var members: [JSON.Member] = []
        members.reserveCapacity(columns.count)
        for column in columns {
            let value = column.value(row)
            if omitsNulls, value == .null { continue }
            members.append(JSON.Member(name: column.name, value: value))
        }
        return .object(members)
    }

    /// Returns the report with these of its columns, in this order.
    public func with(_ names: [String]) -> Report {
        Report(
            names.compactMap { name in columns.first { $0.name == name } }, name: self.name,
            omitsNulls: omitsNulls, tableOrder: tableOrder)
    }

    /// Returns the report without some of its columns.
    public func without(_ names: Set<String>) -> Report {
        Report(
            columns.filter { !names.contains($0.name) }, name: name, omitsNulls: omitsNulls,
            tableOrder: tableOrder)
    }
}

/// A field of a result: its name, type and meaning, its value, and how a table shows it.
public struct Column<Row>: Sendable {
    public let name: String
    /// What the field means, in one sentence without a final period.
    public let summary: String
    /// Whether the field may be null or left out.
    public private(set) var isOptional: Bool
    private let type: @Sendable () -> ValueType
    let value: @Sendable (Row) -> JSON
    private var cell: @Sendable (Row) -> String
    /// The heading in the table; `nil` for a column that the table does not have.
    fileprivate var heading: String?
    fileprivate var isState = false
    fileprivate var isNumber = false
    fileprivate var csvName: String?
    private var csvCell: (@Sendable (Row) -> String)?

    /// Declares a field; its JSON type is that of the value.
    public init<Value: ReportValue>(
        _ name: String, _ summary: String, _ value: @escaping @Sendable (Row) -> Value
    ) {
        self.name = name
        self.summary = summary
        isOptional = Value.isOptional
        type = { Value.valueType }
        self.value = { value($0).json }
        cell = { value($0).shown }
    }

    /// Declares a field of a type that Swift does not know.
    public init(
        _ name: String, _ summary: String, as type: @escaping @Sendable () -> ValueType,
        isOptional: Bool = false, _ value: @escaping @Sendable (Row) -> JSON
    ) {
        self.name = name
        self.summary = summary
        self.isOptional = isOptional
        self.type = type
        self.value = value
        cell = { value($0).line }
    }

    /// Declares an object of values of the same row.
    public init(_ name: String, _ summary: String, _ report: Report<Row>) {
        self.init(name, summary, as: { report.type }, { report.object($0) })
    }

    private init<Outer>(
        _ column: Column<Outer>, _ row: @escaping @Sendable (Row) -> Outer
    ) {
        (name, summary) = (column.name, column.summary)
        isOptional = column.isOptional
        type = column.type
        value = { column.value(row($0)) }
        cell = { column.cell(row($0)) }
        (heading, csvName) = (column.heading, column.csvName)
        (isState, isNumber) = (column.isState, column.isNumber)
        if let cell = column.csvCell { csvCell = { cell(row($0)) } }
    }

    /// Returns the column for rows that contain a row of this report.
    public func of<Outer>(_ row: @escaping @Sendable (Outer) -> Row) -> Column<Outer> {
        Column<Outer>(self, row)
    }

    /// Shows the column in the table.
    ///
    /// - Parameters:
    ///   - isState: whether the cells are states, which have colours on a terminal.
    ///   - isNumber: whether the cells are aligned to the right.
    ///   - cell: the text of a cell; without it, the value's own text, or `-` for none.
    public func shown(
        _ heading: String, isState: Bool = false, isNumber: Bool = false,
        _ cell: (@Sendable (Row) -> String)? = nil
    ) -> Column {
        var column = self
        (column.heading, column.isState, column.isNumber) = (heading, isState, isNumber)
        if let cell { column.cell = cell }
        return column
    }

    /// Writes the column in CSV.
    ///
    /// - Parameters:
    ///   - name: the heading, if it is not the name of the field.
    ///   - cell: the text, if it is not the value's own, or nothing for none.
    public func csv(
        _ name: String? = nil, _ cell: (@Sendable (Row) -> String)? = nil
    ) -> Column {
        var column = self
        (column.csvName, column.csvCell) = (name ?? self.name, cell)
        return column
    }

    /// Declares that a form of the result may leave the field out.
    public func optional() -> Column {
        var column = self
        column.isOptional = true
        return column
    }

    /// The declaration of the field without its value.
    public var field: Field {
        Field(name, type(), summary, isOptional: isOptional)
    }

    fileprivate func text(_ row: Row) -> String { cell(row) }

    fileprivate func csvText(_ row: Row) -> String {
        if let csvCell { return csvCell(row) }
        let value = value(row)
        return value == .null ? "" : value.text ?? value.line
    }
}

// MARK: - Tables and CSV

/// Rows of text under a heading.
public struct Table: Sendable {
    public var heading: [String]
    public var rows: [[String]]
    /// The column with the states; `nil` if there is none.
    public var stateColumn: Int?
    /// The columns that are aligned to the right.
    public var numbers: Set<Int>

    public init(
        heading: [String], rows: [[String]] = [], stateColumn: Int? = nil, numbers: Set<Int> = []
    ) {
        (self.heading, self.rows) = (heading, rows)
        (self.stateColumn, self.numbers) = (stateColumn, numbers)
    }
}

extension Report {
    /// Returns rows as a table for people.
    public func table(_ rows: some Sequence<Row>) -> Table {
        let shown = columns.filter { $0.heading != nil }
        let ordered = tableOrder.compactMap { name in shown.first { $0.heading == name } }
        let columns = ordered + shown.filter { !tableOrder.contains($0.heading ?? "") }
        return Table(
            heading: columns.compactMap(\.heading),
            rows: rows.map { row in columns.map { $0.text(row) } },
            stateColumn: columns.firstIndex(where: \.isState),
            numbers: Set(columns.indices.filter { columns[$0].isNumber }))
    }

    /// Returns the heading and the rows of CSV.
    public func csv(_ rows: some Sequence<Row>) -> [[String]] {
        let columns = columns.filter { $0.csvName != nil }
        return [columns.compactMap(\.csvName)]
            + rows.map { row in columns.map { $0.csvText(row) } }
    }
}

// MARK: - JSON Schema

extension Report {
    /// The declarations of the fields.
    public var fields: [Field] { columns.map(\.field) }

    /// The type of the object.
    public var type: ValueType { name.map { .shared($0) } ?? .object(fields) }
}

/// A row that has one report.
public protocol Reported: ReportValue {
    static var report: Report<Self> { get }
}

extension Reported {
    public static var valueType: ValueType { report.type }
    public var json: JSON { object }

    /// The row as a JSON object.
    public var object: JSON { Self.report.object(self) }
}

/// The JSON type of a value in a command's result.
public indirect enum ValueType: Sendable {
    case text
    case integer
    case number
    case boolean
    /// An instant in RFC 3339, in UTC.
    case instant
    /// A day, such as `2026-11-20`.
    case day
    /// A value whose form somebody else decides, such as the backend.
    case any
    /// An object whose names are not known beforehand.
    case map(ValueType)
    case list(ValueType)
    case object([Field])
    /// An object that occurs in several results, by the name of its report.
    case shared(String)
    case either([ValueType])
}

/// The declaration of a field of an object in a command's result.
public struct Field: Sendable {
    public let name: String
    public let type: ValueType
    public let summary: String
    /// Whether the field may be null or left out.
    public let isOptional: Bool

    /// Declares a field.
    public init(_ name: String, _ type: ValueType, _ summary: String, isOptional: Bool = false) {
        (self.name, self.type, self.summary) = (name, type, summary)
        self.isOptional = isOptional
    }
}

/// A value that a report can contain.
public protocol ReportValue: SendableMetatype {
    static var valueType: ValueType { get }
    static var isOptional: Bool { get }
    var json: JSON { get }
    /// The value in a cell of a table.
    var shown: String { get }
}

extension ReportValue {
    public static var isOptional: Bool { false }
    public var shown: String { json.line }
}

extension String: ReportValue {
    public static var valueType: ValueType { .text }
    public var json: JSON { .string(self) }
    public var shown: String { self }
}

extension Bool: ReportValue {
    public static var valueType: ValueType { .boolean }
    public var json: JSON { .bool(self) }
    public var shown: String { self ? "yes" : "no" }
}

extension Int: ReportValue {
    public static var valueType: ValueType { .integer }
    public var json: JSON { .integer(Int64(self)) }
}

extension Int64: ReportValue {
    public static var valueType: ValueType { .integer }
    public var json: JSON { .integer(self) }
}

extension Double: ReportValue {
    public static var valueType: ValueType { .number }
    public var json: JSON { .number(self) }
}

extension Instant: ReportValue {
    public static var valueType: ValueType { .instant }
    public var json: JSON { .string(description) }
    /// The instant without its milliseconds.
    public var shown: String { Instant(secondsSince1970: secondsSince1970).description }
}

extension CivilDay: ReportValue {
    public static var valueType: ValueType { .day }
    public var json: JSON { .string(description) }
    public var shown: String { description }
}

extension JSON: ReportValue {
    public static var valueType: ValueType { .any }
    public var json: JSON { self }
}

extension Optional: ReportValue where Wrapped: ReportValue {
    public static var valueType: ValueType { Wrapped.valueType }
    public static var isOptional: Bool { true }
    public var json: JSON { self?.json ?? .null }
    public var shown: String { self?.shown ?? "-" }
}

extension Array: ReportValue where Element: ReportValue {
    public static var valueType: ValueType { .list(Element.valueType) }
    public var json: JSON { .array(map(\.json)) }
}

/// An object of counts, sorted by name.
extension Dictionary: ReportValue where Key == String, Value: ReportValue {
    public static var valueType: ValueType { .map(Value.valueType) }
    public var json: JSON {
        .object(sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value.json) })
    }
}

/// An object of counts in the order in which they were counted.
extension Tally: ReportValue {
    public static var valueType: ValueType { .map(.integer) }
    public var json: JSON {
        .object(names.map { JSON.Member(name: $0, value: .integer(self[$0])) })
    }
}

/// A number that programs get rounded to a thousandth.
struct RoundedNumber: ReportValue {
    let number: Double

    init(_ number: Double) { self.number = number }

    static var valueType: ValueType { .number }
    var json: JSON { roundedJSON(number) }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The words of an enum as a reader of the results meets them: `` `a`, `b` ``.
    public static var listed: String { listed { _ in true } }

    /// The same of those words alone that a result can have.
    public static func listed(_ canBe: (Self) -> Bool) -> String {
        allCases.filter(canBe).map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }
}
