import Platform
@preconcurrency import Glibc

/// Installs what starts the jobs of one user, without root.
enum Starters {
    /// Adds a line to the user's crontab, unless a line with this job file is there.
    static func addToCrontab(_ program: String, _ jobFile: String) throws(CommandFailure) {
        let line = "*/5 * * * *  \(quoted(program)) run --due --config \(quoted(jobFile))"
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
        "'" + text.replacing("'", with: "'\\''").replacing("%", with: "\\%") + "'"
    }

    /// Returns a word as systemd.service(5) reads it.
    private static func unitQuoted(_ text: String) -> String {
        "\""
            + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("%", with: "%%").replacing("$", with: "$$") + "\""
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
