import ClarityTestSupport
import Foundation
import Testing

@testable import Reports

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

    @Test func `what a killed process left is written anew`() throws {
        try folder.write("report.part", [1, 2, 3])
        chmod("\(folder.path)/report.part", 0o644)

        let file = try RecordFile("\(folder.path)/report")
        try file.write([7])
        try file.finish()

        #expect(try names() == ["report"])
        #expect(try TemporaryFolder.read("\(folder.path)/report") == [7])
        var status = stat()
        #expect(stat("\(folder.path)/report", &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `what another process writes is left alone`() throws {
        let file = try RecordFile("\(folder.path)/report")
        try file.write([1, 2])

        #expect {
            _ = try RecordFile("\(folder.path)/report")
        } throws: { error in
            if case RecordExport.Fault.busy = error { true } else { false }
        }
        try file.finish()
        #expect(try TemporaryFolder.read("\(folder.path)/report") == [1, 2])
    }

    @Test func `a link in the place of a draft is not followed`() throws {
        try folder.write("private", [5])
        symlink("private", "\(folder.path)/report.part")

        #expect(throws: RecordExport.Fault.self) { try RecordFile("\(folder.path)/report") }
        #expect(try TemporaryFolder.read("\(folder.path)/private") == [5])
    }

    @Test func `a link to nothing has the name too`() throws {
        let path = "\(folder.path)/report"
        symlink("/nowhere", path)

        #expect {
            try RecordDraft.checkIsNew(path)
        } throws: { error in
            if case RecordExport.Fault.exists(path) = error { true } else { false }
        }
    }
}
