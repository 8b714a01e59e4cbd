import CLinux
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// Checks that nobody but one user and root may write a file whose programs that user runs, as
/// cron(8) checks a crontab.
///
/// The file, the folders above it and the links on the way to it belong to this user or root. Their
/// groups and others may write neither the file nor a folder, with two exceptions: a sticky folder
/// such as /tmp, in which they cannot replace the file, and a folder on a mount of its own that is
/// read-only, such as a ConfigMap of Kubernetes, which has mode 0777.
struct WriterCheck: Sendable {
    let user: UInt32

    /// The most links on one way, as for the kernel (path_resolution(7)).
    private static let mostLinks = 40
    /// The bits that let the group and others write, and that of a sticky folder.
    private static let (others, sticky): (mode_t, mode_t) = (0o022, 0o1000)

    /// Checks each folder and link on the way to a file. Of a way that ends early, the reader of the
    /// file reports it.
    ///
    /// - Parameter path: an absolute path.
    func checkWay(to path: String) throws(JobFileFault) {
        var rest = WriterCheck.names(path)
        var folder = ""
        var links = 0
        var status = stat()
        if lstat("/", &status) == 0 { try checkFolder("/", status) }
        while let name = rest.popLast() {
            if name == ".." {
                folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
                continue
            }
            // /proc/self/fd/7 is open already: no folder has a say in which file that is.
            if folder == "/proc", rest.count == 2, rest[1] == "fd" { return }
            let here = "\(folder)/\(name)"
            guard lstat(here, &status) == 0 else { return }
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                try checkFolder(here, status)
                folder = here
            case S_IFLNK:
                try checkOwner(status, "the link \(shown(here))")
                links += 1
                guard links <= WriterCheck.mostLinks, let target = linkTarget(here)
                else { return }
                if target.hasPrefix("/") { folder = "" }
                rest += WriterCheck.names(target)
            default: return
            }
        }
    }

    /// Checks the way to a file in a folder that was checked before.
    func checkLink(_ path: String) throws(JobFileFault) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        try checkWay(to: path)
    }

    /// Checks an open file or pipe. What is typed on a terminal is the caller's own.
    func check(_ descriptor: Int32, _ path: String) throws(JobFileFault) {
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT)
        else { return }
        try checkOwner(status, "it")
        try checkMode(status, "it", path)
    }

    private func checkFolder(_ path: String, _ status: stat) throws(JobFileFault) {
        try checkOwner(status, "the folder \(shown(path))")
        guard status.st_mode & WriterCheck.sticky == 0, status.st_mode & WriterCheck.others != 0,
            clinux_is_read_only_mount(path) == 0
        else { return }
        try checkMode(status, "the folder \(shown(path))", path)
    }

    private func checkOwner(_ status: stat, _ subject: String) throws(JobFileFault) {
        guard status.st_uid != user, status.st_uid != 0 else { return }
        let wanted = user == 0 ? "`root`" : "\(WriterCheck.name(of: user)) or `root`"
        throw JobFileFault(
            writer: .owner(status.st_uid),
            "\(subject) belongs to the user \(WriterCheck.name(of: status.st_uid)); "
                + "wanted \(wanted)")
    }

    private func checkMode(
        _ status: stat, _ subject: String, _ path: String
    ) throws(JobFileFault) {
        let open = status.st_mode & WriterCheck.others
        guard open != 0 else { return }
        let who =
            switch open {
            case 0o020: "its group"
            case 0o002: "others"
            default: "its group and others"
            }
        let mode = status.st_mode & 0o777
        throw JobFileFault(
            writer: .mode,
            "\(subject) has mode \(octal(mode)), which lets \(who) write it; "
                + "wanted \(octal(mode & ~open))",
            help: "chmod go-w \(path); as with cron, nobody else may write a job file, not even "
                + "its group")
    }

    private func octal(_ mode: mode_t) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    private static func name(of user: UInt32) -> String {
        getpwuid(user).map { "`\(String(cString: $0.pointee.pw_name))`" } ?? "\(user)"
    }

    /// Returns the names of a path, the last one first.
    private static func names(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
    }
}

extension JobFileFault {
    fileprivate init(writer: Writer, _ message: String, help: String? = nil) {
        self.init(line: 0, column: 0, message: message, help: help)
        self.writer = writer
    }
}

/// Reads files of YAML, which may be pipes, up to the maximum size of a job file.
enum BoundedFile {
    /// - Parameters:
    ///   - writers: checks who may write the file, but not the way to it.
    ///   - isOrdinary: whether anything but an ordinary file is refused, without waiting for it.
    static func read(
        _ path: String, _ writers: WriterCheck?, isOrdinary: Bool = false
    ) throws(JobFileFault) -> [UInt8] {
        // To open a pipe may take until somebody writes to it, and a device may be a terminal.
        let calm = isOrdinary ? O_NONBLOCK | O_NOCTTY : 0
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | calm)
        guard descriptor >= 0 else {
            // A socket cannot be opened, nor can a device without a driver.
            guard errno == ENXIO, isOrdinary else { throw trouble(errno) }
            throw JobFileFault(
                line: 0, column: 0, message: "it is a socket or device, wanted an ordinary file")
        }
        defer { close(descriptor) }
        if isOrdinary {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw trouble(errno) }
            if let noun = noun(of: status) {
                throw JobFileFault(
                    line: 0, column: 0, message: "it is \(noun), wanted an ordinary file")
            }
        }
        try writers?.check(descriptor, path)
        do throws(WholeFile.Fault) {
            return try WholeFile.bytes(from: descriptor, atMost: YAMLParser.largestFileBytes)
        } catch .refused(let code) {
            throw trouble(code)
        } catch {
            throw YAMLParser.tooLarge
        }
    }

    /// What a file is; `nil` if it is an ordinary one.
    private static func noun(of status: stat) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: "a folder"
        case S_IFIFO: "a pipe"
        default: "a device"
        }
    }

    private static func trouble(_ code: Int32) -> JobFileFault {
        JobFileFault(
            line: 0, column: 0, message: "cannot read it: \(SystemError(code: code).reason)")
    }
}
