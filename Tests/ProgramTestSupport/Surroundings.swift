import ClarityTestSupport
import Glibc
import Testing

extension TemporaryFolder {
    /// Links a built program into the folder, or copies it if a hard link is not possible. It looks
    /// for its companions there.
    func linkProgram(_ name: String) throws {
        let (built, linked) = ("\(ChildProgram.folder)/\(name)", "\(path)/\(name)")
        if link(built, linked) == 0 { return }
        try write(name, try TemporaryFolder.read(built))
        try #require(chmod(linked, 0o700) == 0)
    }
}

/// A file system on a folder, small enough to fill. It needs the right to mount.
struct TinyDisk {
    let path: String

    /// Whether this process may mount such a file system.
    static let isAllowed: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        guard let disk = try? TinyDisk(on: "\(folder.path)/disk", kibibytes: 64) else {
            return false
        }
        disk.remove()
        return true
    }()

    init(on path: String, kibibytes: Int) throws {
        self.path = path
        guard mkdir(path, 0o700) == 0,
            mount("tmpfs", path, "tmpfs", 0, "size=\(kibibytes)k,mode=0700") == 0
        else { throw TemporaryFolder.Errno(code: errno) }
    }

    /// Unmounts the file system. Its owner must do this in any case, because the folder below could
    /// not be removed otherwise.
    func remove() { umount2(path, Int32(MNT_DETACH)) }

    /// Writes a file until there is no space left.
    func fill() throws {
        let file = open("\(path)/filling", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TemporaryFolder.Errno(code: errno) }
        defer { close(file) }
        let page = [UInt8](repeating: 1, count: 4096)
        while write(file, page, page.count) > 0 {}
        guard errno == ENOSPC else { throw TemporaryFolder.Errno(code: errno) }
    }

    /// Removes that file and makes the file system larger.
    func makeSpace(kibibytes: Int) throws {
        unlink("\(path)/filling")
        guard
            mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(kibibytes)k") == 0
        else { throw TemporaryFolder.Errno(code: errno) }
    }
}

/// A user to whom file permissions apply: this one, or nobody (65534) if this one is root.
enum PlainUser {
    private static let words =
        geteuid() == 0
        ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

    /// Whether such a user can start the programs, which may be in a folder that only root can
    /// enter.
    static let isAtHand: Bool = {
        guard !words.isEmpty else { return true }
        guard access(words[0], X_OK) == 0 else { return false }
        var child: pid_t = 0
        let vector =
            (words + ["\(ChildProgram.folder)/clarity-jobs", "--version"]).map { strdup($0) } + [
                nil
            ]
        defer { vector.forEach { free($0) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for number in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
        }
        guard posix_spawn(&child, words[0], &actions, nil, vector, environ) == 0 else {
            return false
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }()

    /// Runs `clarity-jobs` as this user.
    static func run(
        _ playground: Playground, _ arguments: String..., input: String = ""
    ) async throws -> ProgramResult {
        await (try start(playground, arguments)).finish(input: input)
    }

    /// Starts `clarity-jobs` as this user.
    static func start(_ playground: Playground, _ arguments: [String]) throws -> ChildProgram {
        let command = words + ["\(ChildProgram.folder)/clarity-jobs"] + arguments
        return try ChildProgram(
            command[0], Array(command.dropFirst()),
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
            ])
    }

    /// Lets this user read the job file and enter the folder of the playground, and nothing more.
    static func admit(to playground: Playground) {
        chmod(playground.folder.path, 0o755)
        chmod(playground.jobFilePath, 0o644)
    }

    /// Creates a folder that belongs to this user and has these permissions.
    static func makeFolder(_ path: String, _ mode: mode_t) {
        mkdir(path, 0o700)
        if geteuid() == 0 { chown(path, 65534, 65534) }
        chmod(path, mode)
    }
}
