/// The version of this package's programs: what they call themselves to people and to the backend,
/// and what tells a file that this program has read from one that an earlier one read otherwise.
public let programVersion = "0.1.0"
