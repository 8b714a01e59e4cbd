/// Encodes messages that a kernel sends over netlink(7), in the byte order of this machine.
enum NetlinkBytes {
    static let (newLink, newRoute): (UInt16, UInt16) = (16, 24)
    static let (failure, done): (UInt16, UInt16) = (2, 3)

    static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    /// Pads the bytes with zeros to a multiple of four.
    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    static func message(_ type: UInt16, flags: UInt16 = 2, _ payload: [UInt8]) -> [UInt8] {
        padded(
            bytes(UInt32(16 + payload.count)) + bytes(type) + bytes(flags) + bytes(UInt32(7))
                + bytes(UInt32(0)) + payload)
    }

    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        padded(bytes(UInt16(4 + value.count)) + bytes(type) + value)
    }

    static func attribute(_ type: UInt16, _ value: Int32) -> [UInt8] {
        attribute(type, bytes(value))
    }

    static func attribute(_ type: UInt16, _ text: String) -> [UInt8] {
        attribute(type, Array(text.utf8) + [0])
    }

    /// Returns the messages and the end of a dump.
    static func dump(_ messages: [UInt8]...) -> [UInt8] {
        messages.flatMap { $0 } + message(done, bytes(Int32(0)))
    }

    /// `struct ifinfomsg` and its attributes.
    static func link(
        _ index: Int32, _ name: String, flags: UInt32 = 0x1_1043, hardware: UInt16 = 1,
        _ attributes: [UInt8]...
    ) -> [UInt8] {
        message(
            newLink,
            [0, 0] + bytes(hardware) + bytes(index) + bytes(flags) + bytes(UInt32(0))
                + attribute(3, name) + attributes.flatMap { $0 })
    }

    /// `struct rtmsg` and its attributes.
    static func route(
        family: UInt8 = 2, length: UInt8 = 0, service: UInt8 = 0, table: UInt8 = 254,
        type: UInt8 = 1, flags: UInt32 = 0, _ attributes: [UInt8]...
    ) -> [UInt8] {
        message(
            newRoute,
            [family, length, 0, service, table, 3, 0, type] + bytes(flags)
                + attributes.flatMap { $0 })
    }

    /// RTA_OIF
    static func over(_ interface: Int32) -> [UInt8] { attribute(4, interface) }

    /// RTA_PRIORITY
    static func metric(_ metric: Int32) -> [UInt8] { attribute(6, metric) }

    /// `struct rtnexthop`
    static func hop(_ interface: Int32, flags: UInt8 = 0, _ attributes: [UInt8]...) -> [UInt8] {
        let rest = attributes.flatMap { $0 }
        return bytes(UInt16(8 + rest.count)) + [flags, 0] + bytes(interface) + rest
    }
}
