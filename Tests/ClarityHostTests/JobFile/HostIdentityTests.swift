import ClarityHost
import Glibc
import Testing

@Suite struct HostIdentityTests {
    private static let id = "0123456789abcdef0123456789abcdef"

    @Test(arguments: ["\(id)\n", id])
    func `a machine is known by a hash of its id`(contents: String) throws {
        try SampleFiles.withFolder { folder in
            try SampleFiles.write("\(folder)/machine-id", Array(contents.utf8))

            let text = HostIdentity.text(configuration: folder)

            #expect(text == "ceb7fcabcb5698b3")
        }
    }

    @Test(arguments: ["", "uninitialized\n", "\(id)0\n", "0123456789abcdef0123456789abcdeg\n"])
    func `a machine without an id is known by its name`(contents: String) throws {
        var buffer = [CChar](repeating: 0, count: 256)
        gethostname(&buffer, 255)
        let name = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)

        try SampleFiles.withFolder { folder in
            #expect(HostIdentity.text(configuration: folder) == name)

            try SampleFiles.write("\(folder)/machine-id", Array(contents.utf8))

            #expect(HostIdentity.text(configuration: folder) == name)
        }
    }
}
