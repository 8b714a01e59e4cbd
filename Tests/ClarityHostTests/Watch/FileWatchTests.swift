@testable import ClarityHost
import ClarityTestSupport
import Glibc
import Testing

@Suite("Watching files", .timeLimit(.minutes(5)))
struct FileWatchTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a file that is written and closed has changed`() async throws {
        var changes = FileWatch(paths: ["\(folder.path)/export.zip"]).changes(
            on: try #require(EventThread.shared)
        ).makeAsyncIterator()

        try folder.write("export.zip", [1, 2, 3])

        #expect(await changes.next() != nil)
    }

    @Test func `a file that is moved into its place has changed`() async throws {
        try folder.write("incoming", [1])
        var changes = FileWatch(paths: ["\(folder.path)/export.zip"]).changes(
            on: try #require(EventThread.shared)
        ).makeAsyncIterator()

        rename("\(folder.path)/incoming", "\(folder.path)/export.zip")

        #expect(await changes.next() != nil)
    }

    @Test func `other names in the folder do not count`() throws {
        let watch = try #require(FileWatch.Watch(["\(folder.path)/export.zip"]))
        defer { close(watch.descriptor) }

        try folder.write("other.zip", [1])
        let other = watch.takeEvents()
        try folder.write("export.zip", [1])
        let own = watch.takeEvents()

        #expect(!other)
        #expect(own)
    }

    @Test func `events that the kernel dropped may have been of a watched name`() throws {
        let watch = try #require(FileWatch.Watch(["\(folder.path)/export.zip"]))
        defer { close(watch.descriptor) }
        let text = String(
            decoding: try TemporaryFolder.read("/proc/sys/fs/inotify/max_queued_events"),
            as: UTF8.self)
        let limit = try #require(Int(text.filter(\.isNumber)))

        // Two names in turn: the kernel makes one event of two that are the same.
        // Far more than the limit: a queue that is read meanwhile by nobody may still be merged.
        for number in 0...limit * 2 {
            let path = "\(folder.path)/other-\(number % 2)"
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(file >= 0)
            close(file)
        }

        #expect(watch.takeEvents())
    }

    @Test func `a file that is still being written has not changed yet`() throws {
        let watch = try #require(FileWatch.Watch(["\(folder.path)/export.zip"]))
        defer { close(watch.descriptor) }

        let file = open("\(folder.path)/export.zip", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let count = write(file, "half", 4)
        let during = watch.takeEvents()
        close(file)
        let after = watch.takeEvents()

        #expect(count == 4)
        #expect(!during)
        #expect(after)
    }
}
