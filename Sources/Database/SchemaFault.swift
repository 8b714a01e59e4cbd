/// A reason why this program cannot use a database's tables.
public enum SchemaFault: Error, Hashable, Sendable {
    /// The file belongs to another program, or to another part of this one.
    case foreign(applicationID: Int64)
    /// A newer version of the program made them.
    case newer(found: Int, known: Int)
    /// A version before 0.1.0, the first release, made them.
    case older

    /// What `older` says of a file, after its name.
    public static let olderText =
        "was written before 0.1.0: open it once with clarity-jobs 0.1.0, then with this version"
}
