import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// Installs what starts the jobs of one user, without root.
enum Starters {
    /// Adds a line to the user's crontab, unless a line with this job file is there.
    static func addToCrontab(_ program: String, _ jobFile: String) throws(CommandFailure) {
        let line = crontabLine(program, jobFile)
        // crontab(1) has no way to add a line but to write them all, so a crontab that cannot be
        // read must not count as empty.
        let script = """
            if lines=$(LC_ALL=C crontab -l 2>&1); then
                case $lines in *"$1"*) exit 0 ;; esac
                lines="$lines
            "
            else
                case $lines in *"no crontab for"*) lines= ;; *) exit 1 ;; esac
            fi
            printf '%s%s\\n' "$lines" "$2" | crontab -
            """
        try check(["/bin/sh", "-c", script, "sh", jobFile, line], "add to the crontab")
    }

    /// The line of a crontab that starts the jobs of a job file.
    static func crontabLine(_ program: String, _ jobFile: String) -> String {
        "*/5 * * * *  \(quoted(program)) run --due --config \(quoted(jobFile))"
    }

    /// Starts a service of the user's own service manager, which is that of the package, or else
    /// written.
    ///
    /// - Parameter isUsual: whether the job file is where the service of the package looks for it.
    static func enableUserService(
        _ program: String, _ jobFile: String, _ configurationFolder: String, isUsual: Bool
    ) throws(CommandFailure) {
        let (program, jobFile) = (unitQuoted(program), unitQuoted(jobFile))
        let script = """
            set -e
            if [ "$2" != usual ] || ! systemctl --user cat clarity-jobs.service > /dev/null 2>&1; then
                mkdir -p "$1"
                [ -e "$1/clarity-jobs.service" ] || printf '%s' "$3" > "$1/clarity-jobs.service"
                [ -e "$1/clarity-jobs-failed@.service" ] ||
                    printf '%s' "$4" > "$1/clarity-jobs-failed@.service"
            fi
            systemctl --user daemon-reload
            systemctl --user enable --now --quiet clarity-jobs.service
            """
        try check(
            [
                "/bin/sh", "-c", script, "sh", "\(configurationFolder)/systemd/user",
                isUsual ? "usual" : "own", UserService.loop(program: program, jobFile: jobFile),
                UserService.failed(program: program, jobFile: jobFile),
            ], "start the service")
    }

    /// Removes the lines of a job file from the user's crontab.
    ///
    /// - Returns: whether there were such lines.
    static func removeFromCrontab(_ jobFile: String) throws(CommandFailure) -> Bool {
        let script = """
            lines=$(LC_ALL=C crontab -l 2>&1) || {
                case $lines in *"no crontab for"* | *"not found"*) exit 3 ;; *) exit 1 ;; esac
            }
            case $lines in *"$1"*) ;; *) exit 3 ;; esac
            rest=$(printf '%s\\n' "$lines" | grep -vF -- "$1")
            [ -n "$rest" ] || exec crontab -r
            printf '%s\\n' "$rest" | crontab -
            """
        let marker = "run --due --config \(quoted(jobFile))"
        let status = try ForegroundProgram.run(["/bin/sh", "-c", script, "sh", marker])
        guard status != 0 else { return true }
        guard status == 3 else {
            throw CommandFailure(
                .configuration, "cannot read or write your crontab (status \(status))",
                "help: remove the line with `\(marker)` by `crontab -e`")
        }
        return false
    }

    /// Stops and disables the service of the user's own service manager, and removes its units if
    /// `enableUserService` has written them for this job file.
    ///
    /// - Parameter isUsual: whether the job file is where the service of the package looks for it.
    /// - Returns: what was removed; empty if the service is not that of the job file.
    static func disableUserService(
        _ jobFile: String, _ configurationFolder: String, isUsual: Bool
    ) throws(CommandFailure) -> [String] {
        let folder = "\(configurationFolder)/systemd/user"
        let service = "clarity-jobs.service"
        let written = [service, "clarity-jobs-failed@.service"].map { "\(folder)/\($0)" }
            .filter { text(of: $0)?.contains("--config \(unitQuoted(jobFile))\n") ?? false }
        let link = "\(folder)/default.target.wants/\(service)"
        let isOfPackage = isUsual && access("\(folder)/\(service)", F_OK) != 0
        guard !written.isEmpty || isOfPackage && linkTarget(link) != nil else { return [] }
        var removed = ["the service `\(service)` of your own systemd, which is stopped"]
        do throws(CommandFailure) {
            try check(
                ["systemctl", "--user", "disable", "--now", "--quiet", service], "stop the service")
        } catch {
            // Without the link it does not start again.
            removed = [
                "the service `\(service)` of your own systemd; it may still run until you log out"
            ]
            unlink(link)
        }
        for path in written where unlink(path) == 0 { removed.append(path) }
        guard !written.isEmpty else { return removed }
        try check(["systemctl", "--user", "daemon-reload"], "reload your own systemd")
        return removed
    }

    private static func text(of path: String) -> String? {
        do throws(WholeFile.Fault) {
            return String(decoding: try WholeFile.bytes(of: path, atMost: 1 << 16), as: UTF8.self)
        } catch {
            return nil
        }
    }

    private static func check(_ words: [String], _ what: String) throws(CommandFailure) {
        let status = try ForegroundProgram.run(words)
        guard status == 0 else {
            throw CommandFailure(
                .configuration, "cannot \(what) (status \(status))",
                "help: docs/install.md has the steps")
        }
    }

    private static func quoted(_ text: String) -> String {
        // cron(8) reads `%` as the end of the command.
        "'" + text.replacing(scalars: ["'": "'\\''", "%": "\\%"]) + "'"
    }

    /// Returns a word as systemd.service(5) reads it.
    private static func unitQuoted(_ text: String) -> String {
        "\""
            + text.replacing(scalars: ["\\": "\\\\", "\"": "\\\"", "%": "%%", "$": "$$"]) + "\""
    }
}

/// The units with which a user's own service manager runs the loop. Packages have them, in
/// deploy/user, for the job file in the user's home.
enum UserService {
    /// Returns the unit of the loop; both words are as systemd.service(5) reads them.
    static func loop(program: String, jobFile: String) -> String {
        """
        [Unit]
        Description=Keeps health data in step with the CLARITY backend
        Documentation=man:clarity-jobs(1)
        StartLimitIntervalSec=10min
        StartLimitBurst=5
        OnFailure=clarity-jobs-failed@%n.service

        [Service]
        Type=notify
        WatchdogSec=10min
        TimeoutStartSec=15min
        ExecStart=\(program) loop --config \(jobFile)
        ExecReload=/bin/kill -HUP $MAINPID
        KillMode=mixed
        TimeoutStopSec=60
        OOMPolicy=continue
        Restart=on-failure
        RestartSec=30
        RestartPreventExitStatus=64 65 66 78
        SuccessExitStatus=143
        UMask=0077
        NoNewPrivileges=yes

        [Install]
        WantedBy=default.target

        """
    }

    /// Returns the unit that tells the targets of `notify` that the loop failed.
    static func failed(program: String, jobFile: String) -> String {
        """
        [Unit]
        Description=Tells the targets of notices that %i failed
        Documentation=man:clarity-jobs(1)

        [Service]
        Type=oneshot
        ExecStart=\(program) notify failed --config \(jobFile)
        TimeoutStartSec=10min
        SuccessExitStatus=75
        UMask=0077
        NoNewPrivileges=yes

        """
    }
}

/// A job file that has no name yet: it disappears with this process unless it is published.
struct JobFileDraft: ~Copyable {
    private let descriptor: Int32
    private let text: String

    init(_ text: String) throws(CommandFailure) {
        descriptor = try JobFileDraft.nameless(text)
        self.text = text
    }

    private static func nameless(_ text: String) throws(CommandFailure) -> Int32 {
        var name = Array("/tmp/clarity-jobs.XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw failure("a temporary file") }
        unlink(name)
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            close(descriptor)
            throw failure("a temporary file")
        }
        return descriptor
    }

    deinit { close(descriptor) }

    /// A path that this process and its children can open.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Writes the file, unless there is one already.
    ///
    /// - Parameters:
    ///   - model: the file whose owner and mode the new one gets; without one, only this user may
    ///     read it.
    ///   - isReplacing: whether it takes the place of a file that is there.
    func publish(
        as target: String, like model: String? = nil, replacing isReplacing: Bool = false
    ) throws(CommandFailure) {
        let folder = String(target[..<(target.lastIndex(of: "/") ?? target.startIndex)])
        var made = ""
        for part in folder.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, 0o700) == 0 || errno == EEXIST else {
                throw JobFileDraft.failure(made)
            }
        }
        var name = Array("\(target).XXXXXX".utf8CString)
        let file = mkstemp(&name)
        guard file >= 0 else { throw JobFileDraft.failure(target) }
        let bytes = Array(text.utf8)
        var status = stat()
        if let model, stat(model, &status) == 0 {
            fchmod(file, status.st_mode & 0o666)
            // Only root may give a file away; for everybody else it is their own already.
            if geteuid() == 0 { fchown(file, status.st_uid, status.st_gid) }
        }
        let isWritten = write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        close(file)
        // link(2), unlike rename(2), replaces nothing.
        let place = isReplacing ? rename : link
        let isLinked = isWritten && place(name, target) == 0
        let code = errno
        unlink(name)
        guard isLinked else {
            errno = code
            throw JobFileDraft.failure(target)
        }
    }

    private static func failure(_ what: String) -> CommandFailure {
        let problem = SystemError().reason
        return CommandFailure(.disk, "cannot write `\(what)`: \(problem)")
    }
}
