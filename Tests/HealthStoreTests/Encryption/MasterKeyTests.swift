@preconcurrency import Glibc
import Testing

@testable import HealthStore

@Suite struct MasterKeyTests {
    private let hex = String(repeating: "0f", count: 32)

    private func load(
        _ folder: StateFolder, _ environment: [String: String] = [:]
    ) throws(MasterKeyError) -> MasterKey? {
        try MasterKeySource(stateDirectory: folder.path, environment: environment).load()
    }

    @Test(arguments: [
        [UInt8](repeating: 0x0F, count: 32), Array(String(repeating: "0F", count: 32).utf8),
        Array("  \(String(repeating: "0f", count: 32))\n".utf8),
    ])
    func `32 bytes and 64 hex digits are a key`(content: [UInt8]) throws {
        let folder = StateFolder()
        folder.write(content, to: "keys/master.key")

        let key = try load(folder)

        #expect(key?.bytes == [UInt8](repeating: 0x0F, count: 32))
    }

    @Test func `a key beside the data is found, and moves into the folder of keys`() throws {
        let folder = StateFolder()
        let key = try folder.open().keyID
        for suffix in ["", ".new"] {
            folder.write(folder.bytes(of: "keys/master.key"), to: "master.key\(suffix)")
        }
        unlink("\(folder.path)/keys/master.key")
        rmdir("\(folder.path)/keys")

        #expect(try load(folder)?.identifier() == key)
        #expect(folder.names.contains("master.key"))
        #expect(try folder.open().keyID == key)

        #expect(
            folder.names.filter { $0.contains("master.key") }
                == ["keys/master.key", "keys/master.key.new"])
        #expect(folder.mode(of: "keys") == 0o700)
    }

    @Test func `a key beside the data replaces no other`() throws {
        let folder = StateFolder()
        let key = try folder.open().keyID
        folder.write([UInt8](repeating: 2, count: 32), to: "master.key")

        #expect(try folder.open().keyID == key)
        #expect(folder.bytes(of: "master.key") == [UInt8](repeating: 2, count: 32))
    }

    @Test func `a credential goes before the environment and that before the file`() throws {
        let folder = StateFolder()
        let credentials = StateFolder()
        credentials.write([UInt8](repeating: 1, count: 32), to: "clarity-jobs.key", mode: 0o440)
        folder.write([UInt8](repeating: 2, count: 32), to: "keys/master.key")
        let environment = ["CLARITY_JOBS_KEY": hex]

        let first = try load(
            folder, environment.merging(["CREDENTIALS_DIRECTORY": credentials.path]) { $1 })
        let second = try load(folder, environment)
        let third = try load(folder)

        #expect([first, second, third].map { $0?.bytes.first } == [1, 0x0F, 2])
    }

    @Test func `a variable that is named is the one, and is asked for`() throws {
        let folder = StateFolder()
        folder.write([UInt8](repeating: 2, count: 32), to: "keys/master.key")
        let named = ["CLARITY_JOBS_KEY": hex, "CLARITY_JOBS_KEY_VARIABLE": "HEALTH_KEY"]

        let other = String(repeating: "aa", count: 32)
        let key = try load(folder, named.merging(["HEALTH_KEY": other]) { $1 })
        let missing = #expect(throws: MasterKeyError.self) { try load(folder, named) }
        let empty = #expect(throws: MasterKeyError.self) {
            try load(folder, named.merging(["HEALTH_KEY": ""]) { $1 })
        }
        let faulty = #expect(throws: MasterKeyError.self) {
            try load(folder, ["CLARITY_JOBS_KEY_VARIABLE": "9 lives"])
        }

        #expect(key?.bytes.first == 0xAA)
        #expect(
            missing?.description
                == "the variable `HEALTH_KEY`, named for the master key, is not set")
        #expect(empty == missing)
        #expect(
            faulty?.description
                == "the variable named for the master key has no name of a variable")
    }

    @Test(arguments: [
        ("A", true), ("_A9", true), ("", false), ("9A", false), ("A B", false), ("A=B", false),
        ("\u{E4}", false), (String(repeating: "A", count: 101), false),
    ])
    func `a name of a variable has letters, digits and underscores`(name: String, isOne: Bool) {
        #expect(MasterKeySource.isVariable(name) == isOne)
    }

    @Test func `a credentials directory without a key is passed over`() throws {
        let folder = StateFolder()

        let key = try load(
            folder, ["CREDENTIALS_DIRECTORY": folder.path, "CLARITY_JOBS_KEY": hex])

        #expect(key?.bytes.first == 0x0F)
    }

    @Test func `a key of another length is refused and not shown`() throws {
        let folder = StateFolder()
        folder.write(Array("secret".utf8), to: "keys/master.key")

        let file = #expect(throws: MasterKeyError.self) { try load(folder) }
        let variable = #expect(throws: MasterKeyError.self) {
            try load(folder, ["CLARITY_JOBS_KEY": "abc"])
        }

        #expect(
            file?.description
                == "the master key in `\(folder.path)/keys/master.key` has 6 bytes; "
                + "wanted 32 bytes or 64 hex digits")
        #expect(
            variable?.description
                == "the master key in `CLARITY_JOBS_KEY` has 3 bytes; "
                + "wanted 32 bytes or 64 hex digits")
    }

    @Test func `a key file that others may read is refused`() throws {
        let folder = StateFolder()
        folder.write([UInt8](repeating: 1, count: 32), to: "keys/master.key", mode: 0o640)

        let error = #expect(throws: MasterKeyError.self) { try load(folder) }

        #expect(
            error?.description
                == "the master key `\(folder.path)/keys/master.key` is open to others (mode 0640); "
                + "make it 0600")
    }

    @Test func `a new key is made once, for the owner alone`() throws {
        let folder = StateFolder()
        let source = MasterKeySource(stateDirectory: folder.path, environment: [:])

        let first = try source.create()
        let second = try source.create()

        #expect(first.bytes == second.bytes)
        #expect(try source.load()?.bytes == first.bytes)
        #expect(folder.names == ["keys/master.key"])
        #expect(folder.mode(of: "keys/master.key") == 0o600)
    }

    @Test func `an account's own key is drawn once, and wrapped by the given key`() throws {
        let folder = StateFolder()
        let given = ["CLARITY_JOBS_KEY": hex, "CLARITY_JOBS_KEY_WRAPS": "1"]
        let source = MasterKeySource(stateDirectory: folder.path, environment: given)
        let none = try source.load(isBegun: false)

        let first = try source.create()
        let second = try source.create()
        let other = MasterKeySource(
            stateDirectory: folder.path,
            environment: given.merging(["CLARITY_JOBS_KEY": String(repeating: "1e", count: 32)]) {
                $1
            })

        #expect(none == nil)
        #expect(first.bytes == second.bytes && first.bytes != [UInt8](repeating: 0x0F, count: 32))
        #expect(try source.load()?.bytes == first.bytes)
        #expect(folder.names == ["account.key"] && folder.mode(of: "account.key") == 0o600)
        let error = #expect(throws: MasterKeyError.self) { try other.load() }
        #expect(
            error?.description
                == "cannot open the account's key in `\(folder.path)/account.key`: another master "
                + "key wrapped it, or it is damaged")

        try source.destroy()
        #expect(folder.names == [])
    }

    @Test func `two who begin an account's data at once have one key`() async throws {
        let folder = StateFolder()
        let given = ["CLARITY_JOBS_KEY": hex, "CLARITY_JOBS_KEY_WRAPS": "1"]

        let keys = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask { try folder.open(given).keyID }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }

        #expect(keys.count == 1)
        #expect(folder.names.filter { $0.hasPrefix("account.key") } == ["account.key"])
    }

    @Test func `an account of before keeps the key that was derived for it`() throws {
        let folder = StateFolder()
        let given = ["CLARITY_JOBS_KEY": hex]
        let before = try folder.open(given).keyID

        let store = try folder.open(given.merging(["CLARITY_JOBS_KEY_WRAPS": "1"]) { $1 })

        #expect(store.keyID == before && !folder.names.contains("account.key"))
    }

    @Test func `making a key takes nothing from another process of the same number`() throws {
        // Two containers that share the folder may use the same process numbers.
        let folder = StateFolder()
        let others = "keys/master.key.\(getpid())"
        folder.write([1, 2, 3], to: others)

        _ = try MasterKeySource(stateDirectory: folder.path, environment: [:]).create()

        try #require(folder.names == ["keys/master.key", others])
        #expect(folder.bytes(of: others) == [1, 2, 3])
    }

    @Test func `a key shows itself nowhere`() throws {
        let key = try MasterKey(content: [UInt8](repeating: 7, count: 32), origin: "a test")

        #expect("\(key)" == "<redacted>")
        #expect(String(reflecting: key) == "<redacted>")
        #expect(Mirror(reflecting: key).children.isEmpty)
    }

    @Test func `subkeys differ from each other and from key to key`() throws {
        let one = try MasterKey(content: [UInt8](repeating: 1, count: 32), origin: "a test")
        let two = try MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test")

        let subkeys = try [one, two].flatMap {
            [try $0.subkey(.encryption), try $0.subkey(.indexing)]
        }

        #expect(Set(subkeys).count == 4)
        #expect(try one.subkey(.encryption) == subkeys[0])
    }
}
