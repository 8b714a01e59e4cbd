/// The version of this package's programs, which they show to users and to the backend.
///
/// It is also stored with files that were read, because another version may read the same file
/// differently.
public let programVersion = "0.1.0"
