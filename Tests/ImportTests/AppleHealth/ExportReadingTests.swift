import HealthStore
import Testing

@testable import Import

@Suite struct ExportReadingTests {
    /// A document with every construct that can be cut in two.
    private static let document: [UInt8] = {
        let blob = String(repeating: "A", count: 5000)
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [ <!-- <HealthData> --> <!ATTLIST Me
             a CDATA #IMPLIED
            <!ELEMENT Me EMPTY> > ]>
            <HealthData locale="en_US"> stray words <!-- a -- > b -->
            \(heartRate())<![CDATA[ ]] ]> <Record/> ]]>
            \(heartRate(source: "sourceName='&lt;Jos\u{E9}\u{2019}s &amp; \u{1F3C3}>'"))
            <Correlation type="x">\(heartRate())</Correlation>
            <MetadataEntry key="a\u{0B}" value="\(blob)"/> & <Record type="x" <Record type="y"/>
            \(heartRate(value: #"value="62" Scale App Version="2" value="63""#))
            <HealthData></HealthData></HealthData>
            """
        return Array(text.utf8) + Array(" <Record value=\"".utf8) + [0xE9]
    }()

    @Test(arguments: [1, 2, 3, 7, 4096])
    func `pieces of any size give the same result`(piece: Int) throws {
        let whole = try reading(Self.document)

        let pieced = try reading(Self.document, piece: piece, windowSize: 64)

        #expect(whole.samples.count == 3)
        #expect(whole.report.brokeAt?.reason == "the text ends inside a tag")
        #expect(pieced == whole)
    }

    @Test func `every prefix of a document is read without a fault`() throws {
        let document = Array(Self.document.prefix(1200))
        for length in stride(from: 0, through: document.count, by: 5) {
            let report = try reading(Array(document.prefix(length)), piece: 97, windowSize: 64)
                .report

            #expect(report.unexplained == 0)
            #expect(report.bytesRead == Int64(length))
        }
    }

    @Test func `damaged documents are read to their end and every record is explained`() throws {
        let marks = Array("<>\"'/=&;! \0\u{E9}]-".utf8)
        var state: UInt64 = 7
        for round in 0..<200 {
            var document = Self.document
            for _ in 0..<20 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                document[Int(state >> 33) % document.count] =
                    marks[Int(state >> 17) % marks.count]
            }

            let whole = try reading(document)
            let pieced = try reading(document, piece: 11, windowSize: 64)

            #expect(whole == pieced, "round \(round)")
            #expect(whole.report.unexplained == 0, "round \(round)")
            #expect(whole.report.bytesRead == Int64(document.count), "round \(round)")
        }
    }

    @Test func `an attribute of three million bytes is read`() throws {
        let blob = String(repeating: "A", count: 3_000_000)

        let result = try reading(
            body: "<MetadataEntry key=\"blob\" value=\"\(blob)\"/>" + heartRate())

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.malformations == [:])
    }

    @Test func `a tag beyond the limit is passed over and counted`() throws {
        let blob = String(repeating: "> <Record/> ", count: 100)
        let body =
            heartRate(value: "value=\"60\" key=\"\(blob)\"")
            + "<MetadataEntry value='\(blob)'/>"
            + "<Correlation x='\(blob)'>\(heartRate(value: "value=\"9\" k='\(blob)'"))</Correlation>"
            + "<Correlation x='\(blob)'/>" + heartRate()
        let document = Array("<HealthData>\(body)</HealthData>".utf8)

        for piece in [1, 7, 512, 100_000] {
            let result = try reading(document, piece: piece, windowSize: 64, tagLimit: 512)

            #expect(result.samples == [.heartRate(61)])
            #expect(result.report.recordsRead == 2)
            #expect(result.report.refused == ["oversized tag": 1])
            #expect(result.report.malformations == ["oversized tag": 5])
            #expect(result.report.firstOffsets["oversized tag"] == 13)
            #expect(result.report.nestedSkipped == 1)
            #expect(result.report.brokeAt == nil)
        }
    }

    @Test func `the window never grows beyond the limit`() throws {
        let blob = [UInt8](repeating: 0x41, count: 100_000)
        let source = MemorySource(Array("<HealthData><X a=\"".utf8) + blob)
        var reading = ExportReading(
            source: source, mapper: RecordMapper(now: readingTime), windowSize: 1024, tagLimit: 4096
        )

        let report = try reading.run { _, _ in }

        #expect(source.largestRequest <= 4096)
        #expect(report.brokeAt?.reason == "the text ends inside a tag")
        #expect(report.bytesRead == 100_018)
    }

    @Test func `an error of the caller goes through and ends the reading`() throws {
        struct Stop: Error, Equatable {
            var after: Int
        }
        var count = 0

        #expect(throws: Stop(after: 2)) {
            var reading = ExportReading(
                source: MemorySource(
                    Array("<HealthData>\(heartRate())\(heartRate())\(heartRate())".utf8)),
                mapper: RecordMapper(now: readingTime))
            _ = try reading.run { _, _ in
                count += 1
                if count == 2 { throw Stop(after: count) }
            }
        }
        #expect(count == 2)
    }

    @Test func `a source that breaks keeps what was read and reports its own reason`() throws {
        let text = Array("<HealthData>\(heartRate())".utf8)
        var samples = 0
        var reading = ExportReading(
            source: MemorySource(text, breaksWith: "wrong checksum"),
            mapper: RecordMapper(now: readingTime))

        let report = try reading.run { _, _ in samples += 1 }

        #expect(samples == 1)
        #expect(
            report.brokeAt == SourceBreak(byteOffset: Int64(text.count), reason: "wrong checksum"))
    }

    @Test func `bytes that the disk does not give are the disk's fault`() throws {
        // A process has no memory at address 0, so reading there fails with EIO (proc(5)).
        let path = "/proc/self/mem"
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)
        defer { buffer.deallocate() }
        let text = FileSource(try OpenFile(path: path))

        let ofText = #expect(throws: ByteSourceBreak.self) { try text.read(into: buffer) }
        #expect(throws: SourceError.unreadable(path: path, reason: "input/output error")) {
            try ArchiveMembers(try OpenFile(path: path), path: path)
        }

        #expect(ofText?.isOfDisk == true)
        #expect(ofText?.reason == "input/output error")
    }

    @Test func `progress tells the bytes read and the whole`() throws {
        var told: [SourceProgress] = []
        var reading = ExportReading(
            source: MemorySource(Array("<HealthData></HealthData>".utf8), piece: 10),
            mapper: RecordMapper(now: readingTime), progress: { told.append($0) })

        _ = try reading.run { _, _ in }

        #expect(told.map(\.bytesRead) == [10, 20, 25])
        #expect(told.map(\.bytesTotal) == [25, 25, 25])
    }
}
