public import ClarityScheduler

/// Makes a zone from the rule in its footer alone, so that no tz database is needed.
public func testZone(_ identifier: String, _ rule: String) throws -> Zone {
    func header(_ types: UInt8) -> [UInt8] {
        Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15 + 19) + [types, 0, 0, 0, 4]
    }
    // One type with offset 0, named UTC, which the rule replaces.
    let data: [UInt8] = [0, 0, 0, 0, 0, 0] + Array("UTC\0".utf8)
    return try Zone(
        identifier: identifier,
        tzif: header(1) + data + header(1) + data + Array("\n\(rule)\n".utf8))
}
