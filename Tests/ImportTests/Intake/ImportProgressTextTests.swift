import ClarityScheduler
import Testing

@testable import Import

@Suite struct ImportProgressTextTests {
    private func progress(
        _ read: Int64, of total: Int64? = 877_000_000, records: Int64 = 0, file: Int = 1,
        files: Int = 1
    ) -> ImportProgress {
        ImportProgress(
            file: file, files: files,
            found: SourceProgress(bytesRead: read, bytesTotal: total, recordsRead: records))
    }

    @Test func `a bar has bytes, percent, records and the time that is left`() {
        var text = ImportProgressText(at: .seconds(5))

        let bar = text.bar(
            progress(438_500_000, records: 1_000_000), at: .seconds(7), width: 79)

        #expect(
            bar == "[=============             ] 50 %  438 MB of 877 MB  1000000 records  2 s left")
    }

    @Test(arguments: [10, 30, 40, 41, 60, 79, 200])
    func `a bar is never wider than the terminal`(width: Int) {
        var text = ImportProgressText(at: .zero)

        let bar = text.bar(
            progress(1_000_000, records: 5, file: 2, files: 12), at: .zero, width: width)

        #expect((bar?.count ?? 0) <= width && bar?.isEmpty == false)
        #expect(bar?.hasPrefix("[") == (width >= 60))
    }

    @Test func `there is a bar at most ten times a second`() {
        var text = ImportProgressText(at: .zero)

        let shown = [0, 50, 99, 100, 150, 199, 200].map { milliseconds in
            text.bar(progress(1), at: .milliseconds(milliseconds), width: 79) != nil
        }

        #expect(shown == [true, false, false, true, false, false, true])
    }

    @Test func `where nobody knows how long it is, there is no bar to fill`() {
        var text = ImportProgressText(at: .zero)

        #expect(
            text.bar(progress(64_000, of: nil, records: 7), at: .seconds(9), width: 79)
                == "64 kB  7 records")
    }

    @Test func `a long rest is told in minutes, and none before there is something to go by`() {
        var text = ImportProgressText(at: .zero)

        let early = text.bar(progress(8_770_000), at: .seconds(9), width: 79)
        let late = text.bar(progress(87_700_000), at: .seconds(10), width: 79)

        #expect(early?.hasSuffix("8 MB of 877 MB") == true)
        #expect(late?.hasSuffix("1 min 30 s left") == true)
    }

    @Test func `without a terminal there is a line for each tenth, once`() {
        var text = ImportProgressText(at: .zero)

        let lines = [1, 9, 10, 12, 19, 35, 38, 100].map { percent in
            text.line(progress(8_770_000 * percent, records: percent), name: "export.zip")
        }

        #expect(
            lines.compactMap(\.self) == [
                "`export.zip`: 10 % read, 10 records", "`export.zip`: 30 % read, 35 records",
                "`export.zip`: 100 % read, 100 records",
            ])
    }

    @Test func `each of several files has its own tenths`() {
        var text = ImportProgressText(at: .zero)

        let lines = [1, 2].map { file in
            text.line(progress(10, of: 10, file: file, files: 2), name: "auto")
        }

        #expect(
            lines == [
                "`auto`: 100 % read, file 1 of 2", "`auto`: 100 % read, file 2 of 2",
            ])
    }
}
