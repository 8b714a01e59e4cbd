import ClarityTestSupport
import Foundation
import Testing

@testable import ClarityReports

@Suite struct RecordFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    @Test func `a file gets its name when it is whole, and half of one stays nowhere`() throws {
        do {
            let half = try RecordFile("\(folder.path)/half")
            try half.write([1])
            #expect(try names() == ["half.part"])
        }
        let whole = try RecordFile("\(folder.path)/whole")
        try whole.write([1, 2])
        try whole.finish()

        #expect(try names() == ["whole"])
        #expect(try TemporaryFolder.read("\(folder.path)/whole") == [1, 2])
    }

    @Test func `what appears under its name meanwhile is not replaced`() throws {
        let path = "\(folder.path)/report"
        let file = try RecordFile(path)
        try folder.write("report", [7])

        #expect {
            try file.finish()
        } throws: { error in
            if case RecordExport.Fault.exists(path) = error { true } else { false }
        }
        #expect(try TemporaryFolder.read(path) == [7])
    }

    @Test func `a link to nothing has the name too`() throws {
        let path = "\(folder.path)/report"
        symlink("/nowhere", path)

        #expect {
            try RecordFile.checkIsNew(path)
        } throws: { error in
            if case RecordExport.Fault.exists(path) = error { true } else { false }
        }
    }
}
