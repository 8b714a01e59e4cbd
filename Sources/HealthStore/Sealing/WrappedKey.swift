import Platform

/// An account's own key: random, and encrypted with the key that a person or a service manager gives.
///
/// Whoever has the given key and this one can read the account's data. Nobody can once this one is
/// gone, also not with the given key.
struct WrappedKey {
    private static let row = RowIdentity("account_key")

    /// What is stored.
    let bytes: [UInt8]

    /// Wraps a key.
    init(_ key: MasterKey, by given: MasterKey) throws(MasterKeyError) {
        bytes = try Sealer(given.wrappingKey()).seal(key.bytes, for: WrappedKey.row)
    }

    /// Takes what was stored.
    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a file of the state directory; `nil` if there is none.
    ///
    /// - Throws: `MasterKeyError` as for a master key.
    init?(at path: String) throws(MasterKeyError) {
        guard let text = try KeyFile.content(of: path, as: .own) else { return nil }
        try self.init(text: text, of: path)
    }

    /// Reads the file of a backup, which may belong to anybody; `nil` if there is none.
    init?(of backup: Backup) throws {
        let path = "\(backup.path)/\(MasterKeySource.ownName)"
        guard let text = try DurableFile.text(of: path, atMost: 1024) else { return nil }
        try self.init(text: Array(text.utf8), of: path)
    }

    private init(text: [UInt8], of path: String) throws(MasterKeyError) {
        guard let bytes = hexDecoded(Array(text.prefix { $0 != UInt8(ascii: "\n") })) else {
            throw .wrapped(place: path)
        }
        self.bytes = bytes
    }

    /// Returns the account's key.
    ///
    /// - Parameter place: where it is, for messages.
    /// - Throws: `MasterKeyError.wrapped` if another key wrapped it.
    func opened(by given: MasterKey, at place: String) throws(MasterKeyError) -> MasterKey {
        guard let plain = try Sealer(given.wrappingKey()).opened(bytes, for: WrappedKey.row),
            let key = MasterKey(unwrapped: plain)
        else { throw .wrapped(place: place) }
        return key
    }
}

extension WrappedKey {
    /// Copies the key of a state directory, if it has one, to a new folder.
    ///
    /// - Returns: the files that were written, as a backup lists them.
    static func copy(
        from directory: String, to folder: String
    ) throws(MasterKeyError) -> [(name: String, version: Int)] {
        let name = MasterKeySource.ownName
        guard let key = try WrappedKey(at: "\(directory)/\(name)") else { return [] }
        _ = try KeyFile.make("\(folder)/\(name)", key.bytes)
        return [(name, 1)]
    }
}
