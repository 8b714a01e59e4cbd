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

        // Two names in turn, because the kernel merges an event with an identical one before it.
        // Far more events than the limit, because the kernel may still merge events that nobody has
        // read.
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

    /// As with /etc/localtime, which ln(1) and `timedatectl` replace in these ways.
    @Test func `a link that appears has changed`() throws {
        let path = "\(folder.path)/localtime"
        let watch = try #require(FileWatch.Watch([path]))
        defer { close(watch.descriptor) }

        symlink("/usr/share/zoneinfo/Europe/Paris", path)
        let made = watch.takeEvents()
        symlink("/usr/share/zoneinfo/Asia/Tokyo", "\(folder.path)/new")
        let other = watch.takeEvents()
        rename("\(folder.path)/new", path)
        let replaced = watch.takeEvents()
        unlink(path)
        try folder.write("localtime", [1])
        let written = watch.takeEvents()

        #expect(made && !other && replaced && written)
    }

    /// As a file that is mounted from elsewhere changes: not in the folder that is watched.
    @Test func `a file that is written by another path has changed`() throws {
        let path = "\(folder.path)/localtime"
        try folder.write("localtime", [1])
        mkdir("\(folder.path)/elsewhere", 0o700)
        link(path, "\(folder.path)/elsewhere/zone")
        let watch = try #require(FileWatch.Watch([path]))
        defer { close(watch.descriptor) }

        try folder.write("elsewhere/zone", [2])
        let first = watch.takeEvents()
        try folder.write("new", [3])
        link("\(folder.path)/new", "\(folder.path)/elsewhere/new")
        rename("\(folder.path)/new", path)
        let replaced = watch.takeEvents()
        try folder.write("elsewhere/new", [4])
        let second = watch.takeEvents()
        try folder.write("elsewhere/zone", [5])
        let former = watch.takeEvents()

        #expect(first && replaced && second && !former)
    }

    // MARK: Folders

    @Test(arguments: [
        ("a.ndjson", true), ("a.tmp", false), ("a.json.part", false), (".a.json", false),
    ])
    func `in a folder each file counts that has its name for good`(
        name: String, counts: Bool
    ) throws {
        let spool = "\(folder.path)/spool"
        mkdir(spool, 0o700)
        let watch = try #require(FileWatch.Watch([], folders: [spool]))
        defer { close(watch.descriptor) }

        try folder.write("spool/\(name)", [1])

        #expect(watch.takeEvents() == counts)
    }

    @Test func `a file that is renamed into a folder counts once, and leaving it does not`() throws
    {
        let spool = "\(folder.path)/spool"
        mkdir(spool, 0o700)
        let watch = try #require(FileWatch.Watch([], folders: [spool]))
        defer { close(watch.descriptor) }

        try folder.write("spool/a.tmp", [1])
        let written = watch.takeEvents()
        rename("\(spool)/a.tmp", "\(spool)/a.json")
        let renamed = watch.takeEvents()
        mkdir("\(spool)/done", 0o700)
        rename("\(spool)/a.json", "\(spool)/done/a.json")
        try folder.write("spool/done/b.json", [1])
        let left = watch.takeEvents()

        #expect([written, renamed, left] == [false, true, false])
    }

    @Test(arguments: ["", "/", "//"])
    func `a folder that is made later is watched from then on`(end: String) throws {
        let spool = "\(folder.path)/spool"
        let watch = try #require(FileWatch.Watch([], folders: [spool + end]))
        defer { close(watch.descriptor) }

        mkdir("\(folder.path)/other", 0o700)
        let other = watch.takeEvents()
        mkdir(spool, 0o700)
        let made = watch.takeEvents()
        try folder.write("spool/a.json", [1])
        let filled = watch.takeEvents()
        unlink("\(spool)/a.json")
        rmdir(spool)
        let removed = watch.takeEvents()
        mkdir(spool, 0o700)
        _ = watch.takeEvents()
        try folder.write("spool/b.json", [1])
        let again = watch.takeEvents()

        #expect([other, made, filled, removed, again] == [false, true, true, false, true])
    }

    @Test func `a file under the name of a folder counts as a file`() throws {
        let watch = try #require(
            FileWatch.Watch([], folders: ["\(folder.path)/export.zip"]))
        defer { close(watch.descriptor) }

        try folder.write("other", [1])
        let other = watch.takeEvents()
        rename("\(folder.path)/other", "\(folder.path)/export.zip")

        #expect(!other)
        #expect(watch.takeEvents())
    }
}
