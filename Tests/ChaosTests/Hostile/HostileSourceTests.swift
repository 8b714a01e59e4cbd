import HealthStore
import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@testable import Import

@Suite("Sources that somebody made to do harm", .timeLimit(.minutes(20)))
struct HostileSourceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let sound = Array(
        """
        <?xml version="1.0"?>
        <HealthData locale="en_GB">
         <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="W" unit="count/min" \
        startDate="2026-10-01 00:00:00 +0000" endDate="2026-10-01 00:00:00 +0000" value="60"/>
        </HealthData>

        """.utf8)

    /// An archive, and the expected result of reading it.
    struct Archive: CustomTestStringConvertible {
        var name: String
        var members: [ZipBuilder.Member]
        /// The number of samples that are read, or `nil` if no export can be read.
        var samples: Int?

        var testDescription: String { name }
    }

    private static func member(
        _ name: String, _ stored: [UInt8] = sound,
        _ change: (inout ZipBuilder.Member) -> Void = { _ in }
    ) -> ZipBuilder.Member {
        var member = ZipBuilder.Member(name, stored)
        change(&member)
        return member
    }

    static let archives = [
        Archive(name: "a path upwards", members: [member("../export.xml")], samples: 1),
        Archive(name: "an absolute path", members: [member("/export.xml")], samples: 1),
        Archive(name: "a path far upwards", members: [member("../../../export.xml")]),
        Archive(name: "a path of another system", members: [member("..\\..\\export.xml")]),
        Archive(
            name: "a name with a null", members: [member("a\0b/export.xml"), member("export.xml")],
            samples: 1),
        Archive(
            name: "a name of 64 KiB",
            members: [member(String(repeating: "x", count: 65_000) + ".xml")], samples: 1),
        Archive(name: "a name that steers", members: [member("\u{1B}[2J\u{202E}.xml")], samples: 1),
        Archive(
            name: "a link to a file of the machine",
            members: [
                member("export.xml", Array("/etc/passwd".utf8)) { $0.attributes = 0xA1FF_0000 }
            ]),
        Archive(
            name: "a device", members: [member("export.xml", []) { $0.attributes = 0x21B6_0000 }]),
        Archive(
            name: "two exports", members: [member("export.xml"), member("export.xml")]),
        // A bomb of nested archives relies on a reader that opens this.
        Archive(
            name: "an archive in an archive",
            members: [
                member(
                    "export.xml",
                    ZipBuilder(members: [
                        member("export.xml", ZipBuilder.deflatedSpaces(after: [], count: 1 << 16)) {
                            $0.method = 8
                        }
                    ]).bytes)
            ]),
        Archive(name: "an encrypted export", members: [member("export.xml") { $0.flags = 1 }]),
        Archive(
            name: "a length beyond all", members: [member("export.xml") { $0.size = 1 << 62 }],
            samples: 1),
        Archive(
            name: "a length beyond 64 bits", members: [member("export.xml") { $0.size = .max }]),
        Archive(
            name: "a length too short", members: [member("export.xml") { $0.size = 3 }], samples: 1),
        Archive(
            name: "a wrong checksum", members: [member("export.xml") { $0.checksum = 7 }],
            samples: 1
        ),
        Archive(name: "an unknown method", members: [member("export.xml") { $0.method = 77 }]),
        Archive(name: "no member", members: []),
    ]

    /// Nothing is extracted, so no member's name leads anywhere. An unreadable archive is a typed
    /// error.
    @Test(arguments: archives)
    func `an archive is read or refused, and nothing beside it appears`(archive: Archive) throws {
        let path = try folder.write("export.zip", ZipBuilder(members: archive.members).bytes)
        let before = Set(try folder.contents().keys)

        var samples = 0
        var words = ""
        do {
            let report = try AppleHealthExport(
                path: path, now: .init(secondsSince1970: 1_794_700_800)
            )
            .read { _, _ in samples += 1 }
            #expect(report.unexplained == 0)
            words = report.brokeAt?.reason ?? ""
            #expect(archive.samples != nil || report.brokeAt != nil, "\(report.elements)")
        } catch let error as SourceError {
            #expect(archive.samples == nil, "\(error)")
            words = "\(error)"
        }

        #expect(samples == archive.samples ?? 0)
        // An archive without samples gets a reason.
        #expect(archive.samples != nil || !words.isEmpty)
        #expect(Set(try folder.contents().keys) == before)
        try demandHarmless(words, "what is said of it")
    }

    /// For some methods the archive itself sets how much memory its reader must allocate: 4 GiB and
    /// more. No phone writes such an archive.
    @Test(arguments: [(14, "lzma"), (93, "zstd"), (95, "xz"), (98, "ppmd")] as [(UInt16, String)])
    func `a method that takes as much memory as the archive says is refused`(
        method: UInt16, name: String
    ) throws {
        let content = [9, 4, 5, 0, 0x5D, 0, 0, 0, 0x80] + HostileSourceTests.sound
        let member = HostileSourceTests.member("export.xml", content) { $0.method = method }
        let path = try folder.write("export.zip", ZipBuilder(members: [member]).bytes)

        let error = #expect(throws: SourceError.self) {
            try AppleHealthExport(path: path, now: .init(secondsSince1970: 1_794_700_800))
                .read { _, _ in }
        }

        #expect(error?.description.contains("compressed by \(name)") == true, "\(error as Any)")
        #expect(error?.description.contains("zip it anew") == true)
    }

    /// A text that inflates without end, or a single endless tag, is read at a steady pace in
    /// little memory. The whole program has less than half a gigabyte of address space beyond its
    /// libraries.
    @Test(arguments: ["spaces", "tag", "attribute", "text"])
    func `a bomb is read in bounded memory`(sort: String) async throws {
        let plan = ChaosPlan.current
        let size = plan.size(slice: 16 << 20, whole: 2 << 30)
        let open = [
            "spaces": "", "tag": "<Record ", "attribute": "<Record value=\"", "text": "<x>y",
        ]
        let head = Array("<?xml version=\"1.0\"?>\n<HealthData>\n\(open[sort] ?? "")".utf8)
        var bomb = HostileSourceTests.member(
            "export.xml", ZipBuilder.deflatedSpaces(after: head, count: size))
        bomb.method = 8
        bomb.size = UInt64(head.count + 1 + size / 258 * 258)
        bomb.checksum = 1
        let playground = try await Playground(sandboxOptions: nil)
        try playground.folder.write("export.zip", ZipBuilder(members: [bomb]).bytes)

        let result = try await ChildProgram.run(
            "/bin/sh",
            [
                "-c", "ulimit -v 700000; exec \"$0\" import \"$1\"",
                "\(ChildProgram.folder)/clarity-jobs", "\(playground.folder.path)/export.zip",
            ],
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
            ])

        // Reads the whole text up to the wrong checksum, and reports the checksum.
        #expect(result.status == 65, "\(result.status): \(result.errors)")
        // At full size the tag is longer than any tag may be, and counts as a refused record. In a
        // slice it is only truncated. The unknown element around the text counts as one without a
        // date.
        let isRecord = sort == "text" || plan.isWhole && ["tag", "attribute"].contains(sort)
        #expect(
            result.output
                == "`export.zip`: \(isRecord ? "1 record read: 1 refused" : "0 records read: nothing in it")\n"
        )
        let said = result.errorLines.last ?? ""
        #expect(said.contains("breaks off at byte \(bomb.size ?? 0) of its text"), "\(result)")
        #expect(said.contains("the archive is damaged or cut off"), "\(result)")
        #expect(said.contains("CRC"), "\(result)")
        #expect(TerminalSafetyTests.steering([("import", result)]) == [])
    }
}
