/// A reason why this program cannot use a database's tables.
public enum SchemaFault: Error, Hashable, Sendable {
    /// The file belongs to another program, or to another part of this one.
    case foreign(applicationID: Int64)
    /// A newer version of the program made them.
    case newer(found: Int, known: Int)
}
