/// A statement that runs many times and whose values are bound without a copy; valid only inside
/// the closure that receives it.
///
/// It is for bulk work. `Connection.run` takes an array of values for each call and copies each
/// text and blob, which would cost more than the row. Parameters count from 1. A bound value stays
/// bound from one run to the next.
public struct Statement: ~Copyable {
    private let statement: any EngineStatement

    init(_ statement: any EngineStatement) { self.statement = statement }

    /// Binds copies of values, the first to the first parameter.
    public func bind(_ values: [Value]) throws(DatabaseError) {
        for (place, value) in values.enumerated() {
            try statement.bind(value, at: Int32(place + 1))
        }
    }

    /// Binds an integer.
    public func bind(_ number: Int64, at index: Int32) throws(DatabaseError) {
        try statement.bind(number, at: index)
    }

    /// Binds a blob without copying it.
    ///
    /// The bytes must stay unchanged and at the same address until something else is bound to
    /// `index` or the closure returns.
    public func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError) {
        try statement.bind(blob: bytes, at: index)
    }

    /// Binds UTF-8 text without copying it, under the same condition as `bind(blob:at:)`.
    public func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError) {
        try statement.bind(text: bytes, at: index)
    }

    /// Runs the statement to completion.
    ///
    /// - Returns: whether it returned a row.
    @discardableResult
    public func run() throws(DatabaseError) -> Bool { try statement.run() }
}
