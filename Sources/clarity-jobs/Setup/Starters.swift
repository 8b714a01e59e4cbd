import ClaritySystem
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

    /// Writes a service of the user's own service manager, and starts it.
    static func enableUserService(
        _ program: String, _ jobFile: String, _ configurationFolder: String
    ) throws(CommandFailure) {
        let unit = """
            [Unit]
            Description=Keeps health data in step with the CLARITY backend

            [Service]
            ExecStart=\(unitQuoted(program)) loop --config \(unitQuoted(jobFile))
            ExecReload=/bin/kill -HUP $MAINPID
            KillMode=mixed
            TimeoutStopSec=60
            Restart=on-failure
            RestartSec=30
            RestartPreventExitStatus=65 66 78
            SuccessExitStatus=143
            UMask=0077
            NoNewPrivileges=yes

            [Install]
            WantedBy=default.target

            """
        let folder = "\(configurationFolder)/systemd/user"
        let script = """
            set -e
            mkdir -p "$1"
            [ -e "$1/clarity-jobs.service" ] || printf '%s' "$2" > "$1/clarity-jobs.service"
            systemctl --user daemon-reload
            systemctl --user enable --now --quiet clarity-jobs.service
            """
        try check(["/bin/sh", "-c", script, "sh", folder, unit], "start the service")
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
