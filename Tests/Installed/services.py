"""What the units do beside starting the jobs: they restart, tell, wait for a visitor, serve one of
several persons, and reach folders of others. Scenarios as those in scenarios.py."""

from datetime import datetime, timedelta, timezone

from backend import PASSWORD, URL
from machine import expect, until
from scenarios import (
    EXPORT, SAMPLES, STATE, all_sent, install, installed, initialise, sound, start,
)  # fmt: skip

JOB_FILE = "etc/clarity-jobs/jobs.yaml"
TOLD = f"/{STATE}/told"  # what the target of notices was given, a line each


def drop_in(machine, unit, *lines):
    """Adds settings to a unit of the machine, for those that systemd reads next."""
    folder = machine.root / f"etc/systemd/system/{unit}.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test.conf").write_text("\n".join(lines) + "\n")
    machine.run("systemctl", "daemon-reload")


def add_to_job_file(machine, text):
    with (machine.root / JOB_FILE).open("a") as file:
        file.write(text)
    machine.program("validate")


def main_process(machine, unit="clarity-jobs"):
    return int(machine.run("systemctl", "show", "-P", "MainPID", unit))


def hung_loop(world):
    """A loop that stops is killed by the watchdog of systemd, and its successor goes on."""
    machine = world.machine
    installed(world)
    start(world)
    all_sent(world)
    drop_in(machine, "clarity-jobs.service", "[Service]", "WatchdogSec=3", "RestartSec=1")
    machine.run("systemctl", "restart", "clarity-jobs")
    until(lambda: "next com." in machine.run("systemctl", "status", "clarity-jobs"), "no status")
    hung = main_process(machine)
    machine.run("kill", "-STOP", str(hung))
    until(lambda: main_process(machine) not in (0, hung), "nothing restarts a loop that hangs")
    until(machine.is_active, "the loop does not run after the watchdog")
    sound(world, "Watchdog timeout", "watchdog", "(dumped core)", "killed, status=6/ABRT")


def failed_service(world):
    """A loop that cannot start is given up, told once, and replaced by the timer. It is told once more
    when the loop runs again; and once, without the database, if that is what is broken."""
    machine = world.machine
    installed(world)
    add_to_job_file(
        machine,
        "\nnotify:\n  - { kind: command, on: [service-failed],\n"
        f"      command: [/bin/sh, -c, 'cat >> {TOLD}; echo >> {TOLD}'] }}\n",
    )
    start(world)
    all_sent(world)

    def told():
        path = machine.root / TOLD.lstrip("/")
        return path.read_text().splitlines() if path.exists() else []

    def give_up():
        machine.run("systemctl", "reset-failed", "clarity-jobs")
        machine.run("systemctl", "restart", "clarity-jobs", status=(0, 1))
        until(
            lambda: machine.run("systemctl", "show", "-P", "NRestarts", "clarity-jobs").strip()
            and "failed" in machine.run("systemctl", "is-active", "clarity-jobs", status=None),
            "the loop does not fail",
        )

    drop_in(machine, "clarity-jobs.service", "[Service]", "ExecStart=", "RestartSec=100ms",
            "ExecStart=/bin/sh -c 'exit 70'")  # fmt: skip
    give_up()
    until(lambda: len(told()) == 1, "nobody is told that the loop failed")
    expect('"kind":"service-failed"' in told()[0] and '"event":"raised"' in told()[0], told())
    expect("clarity-jobs.service` failed" in told()[0], "the notice says", told())
    until(lambda: machine.is_active("clarity-jobs-run.timer"), "nothing starts the jobs")
    machine.run("systemctl", "start", "clarity-jobs-run.service")
    give_up()
    drop_in(machine, "clarity-jobs.service", "[Service]", "RestartSec=100ms")
    machine.run("systemctl", "reset-failed", "clarity-jobs")
    start(world)
    machine.program("run", "notify")
    expect(len(told()) == 2 and '"event":"resolved"' in told()[1], "it is not over:", told())

    machine.run("systemctl", "stop", "clarity-jobs", "clarity-jobs-run.timer")
    machine.run("sh", "-c", f"cp -a /{STATE}/history.db /root/; echo no > /{STATE}/history.db")
    machine.run("rm", "-f", f"/{STATE}/history.db-wal", f"/{STATE}/history.db-shm")
    give_up()
    until(lambda: len(told()) == 3, "nobody is told without the database")
    machine.run("systemctl", "start", "clarity-jobs-run.service", status=1)
    until(
        lambda: machine.run("systemctl", "list-jobs", "--no-legend", "clarity-jobs*") == "",
        "something does not end",
    )
    machine.run("cp", "-a", "/root/history.db", f"/{STATE}/history.db")
    machine.run("systemctl", "reset-failed", "clarity-jobs")
    start(world)
    expect(len(told()) == 3, "it was told more than once:", told())
    expect(machine.run("ls", f"/{STATE}/failed-services") == "", "the mark stays")
    sound(world, "status=70", "status=74", "Failed with result", "Failed to start", "repeated too",
          "OnFailure=", "clarity-jobs-failed@", "history.db", "failed (", "caused by", "restore")  # fmt: skip


def pages_by_socket(world):
    """The pages start with the first visitor, stay, and keep their address through an upgrade."""
    machine = world.machine
    installed(world, version="older")
    start(world)
    machine.run("systemctl", "enable", "--now", "clarity-jobs-web.socket")
    expect(not machine.is_active("clarity-jobs-web"), "the pages run without a visitor")
    link = machine.program("serve", "link").splitlines()[0]

    def visit(path):
        words = ["ip", "netns", "exec", world.network.name, "curl", "--silent", "--output",
                 "/dev/null", "--write-out", "%{http_code}", "--max-time", "30"]  # fmt: skip
        return world.call(*words, f"http://127.0.0.1:8799{path}")

    answer = visit(link.removeprefix("http://127.0.0.1:8799"))
    expect(answer in ("200", "302", "303"), "the link answers", answer)
    expect(machine.is_active("clarity-jobs-web"), "the pages do not run after a visit")
    process = main_process(machine, "clarity-jobs-web")
    install(world)
    expect(machine.is_active("clarity-jobs-web.socket"), "an upgrade closes the socket")
    answer = visit("/")
    expect(answer in ("200", "302", "303", "401", "403"), "after an upgrade:", answer)
    expect(main_process(machine, "clarity-jobs-web") != process, "the old pages run on")
    machine.run("systemctl", "stop", "clarity-jobs-web.service", "clarity-jobs-web.socket")
    sound(world)


def one_instance_a_person(world):
    """Two persons, each with a service, a job file and a state of their own."""
    machine = world.machine
    machine.boot()
    install(world)
    for person in ("anna", "ben"):
        job_file, state = f"/etc/clarity-jobs/{person}/jobs.yaml", f"/var/lib/clarity-jobs-{person}"
        machine.run("useradd", "--create-home", person)
        machine.run("install", "-d", "-o", person, "-m", "700", job_file[:-10], state)
        machine.run(
            "clarity-jobs", "init", "--yes", "--backend", URL, "--email", "demo@example.com",
            "--path", EXPORT, "--hours", "always", "--time-zone", "Europe/London", "--no-sync",
            "--password-stdin", "--start", "none", "--config", job_file, "--state", state,
            user=person, input=PASSWORD + "\n",
        )  # fmt: skip
    machine.run("systemctl", "enable", "--now", "clarity-jobs@anna")
    until(lambda: world.backend.summary()["samples"] == SAMPLES, "nothing was sent for anna", 120)
    expect(not machine.is_active(), "the service of the machine runs without a job file")
    machine.reboot()
    until(lambda: machine.is_active("clarity-jobs@anna"), "it does not run after a boot")
    machine.run("clarity-jobs", "audit", "-c", "/etc/clarity-jobs/anna/jobs.yaml", user="anna")
    machine.run("systemctl", "start", "clarity-jobs-run@ben.service")
    machine.run("test", "-e", "/var/lib/clarity-jobs-ben/health.db")
    machine.run("cat", "/etc/clarity-jobs/anna/jobs.yaml", user="ben", status=1)
    machine.run("ls", "/var/lib/clarity-jobs-anna", user="ben", status=2)
    machine.run("touch", "/var/lib/clarity-jobs-ben/remove-on-purge")
    said = machine.apt("purge", "clarity-jobs", "clarity-jobs-web")
    expect("stays in /var/lib/clarity-jobs-anna" in said, "a purge says:", said)
    machine.run("test", "-e", "/var/lib/clarity-jobs-anna/health.db")
    machine.run("test", "-e", "/etc/clarity-jobs/anna/jobs.yaml")
    machine.run("test", "-e", "/var/lib/clarity-jobs-ben", status=1)
    machine.run("test", "-e", "/etc/clarity-jobs/ben", status=1)


def folders_of_others(world):
    """A spool into which another user writes, and a folder on a mount that comes after the start: the
    service reaches both, although its own user namespace knows only its user."""
    machine = world.machine
    installed(world)
    machine.run("useradd", "--create-home", "--groups", "clarity-jobs", "anna")
    machine.run("install", "-d", "-o", "clarity-jobs", "-g", "clarity-jobs", "-m", "2770",
                "/srv/clarity/spool")  # fmt: skip
    machine.run("mkdir", "/mnt/nas")
    job_file = machine.root / JOB_FILE
    job_file.write_text(
        job_file.read_text().replace(
            "sources:\n", "sources:\n  - { kind: spool, path: /srv/clarity/spool }\n"
        ).replace("earliest_begin: 15m", "earliest_begin: 1s")
    )
    add_to_job_file(
        machine,
        "\n  - id: records\n    kind: export-data\n"
        "    options: { folder: /mnt/nas/health/records, format: csv }\n",
    )
    drop_in(machine, "clarity-jobs.service", "[Service]", "ReadWritePaths=/srv/clarity/spool",
            "ReadWritePaths=-/mnt/nas")  # fmt: skip
    start(world)
    all_sent(world)
    sample = '{"kind":"heart_rate","start":"2026-01-02T03:04:05Z","value":61}'
    machine.run(
        "sh", "-c", f"umask 027; echo '{sample}' > one.part; mv one.part one.ndjson",
        user="anna", at="/srv/clarity/spool",
    )  # fmt: skip
    owner = machine.run("stat", "-c", "%U:%G %a", "/srv/clarity/spool/one.ndjson").strip()
    expect(owner == "anna:clarity-jobs 640", "the file belongs to", owner)
    until(
        lambda: world.backend.summary()["samples"] == SAMPLES + 1,
        "the sample of another user is not sent", 120,
    )  # fmt: skip
    machine.run("test", "-e", "/srv/clarity/spool/done/one.ndjson")
    machine.run("mount", "-t", "tmpfs", "nas", "/mnt/nas")
    machine.run("install", "-d", "-o", "clarity-jobs", "/mnt/nas/health")
    machine.program("run", "records", "--ask")
    until(
        lambda: "export.json" in machine.run("find", "/mnt/nas/health/records", status=(0, 1)),
        "the service does not write to a mount that came after it", 120,
    )  # fmt: skip
    sound(world, samples=SAMPLES + 1)


def seen_by(machine, unit):
    """The files of the state directory that the main process of a unit can read."""
    inside = ["nsenter", "-t", str(main_process(machine, unit)), "-m", "setpriv", "--clear-groups"]
    inside += ["--reuid=clarity-jobs", "--regid=clarity-jobs"]
    said = machine.run(*inside, "find", f"/{STATE}", "-type", "f", "-readable", status=(0, 1))
    return {line.removeprefix(f"/{STATE}/") for line in said.splitlines() if "Permission" not in line}


def push(world, token, port=9188):
    body = '{"data": {"metrics": []}}'
    words = ["ip", "netns", "exec", world.network.name, "curl", "--silent", "--output", "/dev/null",
             "--write-out", "%{http_code}", "--max-time", "30", "-H", f"x-api-key: {token}",
             "-H", "content-type: application/json", "--data", body]  # fmt: skip
    return world.call(*words, f"http://127.0.0.1:{port}/health-auto-export")


def units_see_their_part(world):
    """The exporter and the receiver see what they need of the state and nothing else, whatever the
    other programs make, replace, set aside and rename there while they run."""
    machine = world.machine
    installed(world)
    job_file = machine.root / JOB_FILE
    received = f"{{ kind: health-auto-export, path: /{STATE}/received, delete_after_reading: true }}"
    job_file.write_text(job_file.read_text().replace("sources:\n", f"sources:\n  - {received}\n"))
    machine.run("install", "-d", "-o", "clarity-jobs", "-m", "700", f"/{STATE}/received")
    machine.program("validate")
    phone = machine.program("receive", "token", "add", "phone").splitlines()[0]
    machine.run("systemctl", "enable", "--now", "clarity-jobs-exporter", "clarity-jobs-receive")
    start(world)
    all_sent(world)

    def look(when):
        seen = seen_by(machine, "clarity-jobs-receive")
        extra = {name for name in seen if not name.startswith(("push/", "received/"))}
        expect("push/tokens" in seen and not extra, when, "the receiver sees", sorted(extra or seen))
        seen = seen_by(machine, "clarity-jobs-exporter")
        hidden = ("accounts/", "backups/", "keys/", "pages/", "push/", "received/", "master.key")
        extra = {name for name in seen if name.startswith(hidden)}
        expect("history.db" in seen and not extra, when, "the exporter sees", sorted(extra or seen))
        metrics = world.backend.request("GET", "/metrics", port=9187)
        expect("clarity_jobs_build_info" in metrics, when, "the exporter answers:", metrics)
        return push(world, phone)

    expect(look("at first") == "200", "a push is refused")
    machine.run("systemctl", "stop", "clarity-jobs")
    machine.program("key", "rotate")
    expect(look("after a change of the key") == "200", "a push is refused after it")
    machine.program("key", "rotate")
    machine.program("backup")
    machine.program("serve", "password", "--password-stdin", input="correct horse battery\n")
    machine.run("rm", f"/{STATE}/history.db", f"/{STATE}/login")
    machine.program("restore", status=(0, 1))
    machine.program("receive", "token", "revoke", "phone")
    expect(look("after a restore") == "401", "a revoked token is taken")
    start(world)
    sound(world, "history.db")


def units_see_no_account(world):
    """Where there are accounts, the exporter sees no part of them, and the receiver of one account its
    tokens alone, before and after a change of the keys."""
    machine = world.machine
    machine.boot()
    install(world)
    job_file = machine.root / JOB_FILE
    job_file.write_text(
        f"version: 1\nbackend: {{ url: '{URL}' }}\naccounts: accounts.d\nsources:\n"
        f"  - {{ kind: health-auto-export, path: '/{STATE}/received/{{account}}',"
        " delete_after_reading: true }\njobs:\n  - { id: upload, kind: bulk-upload }\n"
    )
    machine.run("install", "-d", "-o", "clarity-jobs", "-m", "700", "/etc/clarity-jobs/accounts.d",
                f"/{STATE}/received", f"/{STATE}/received/anna", f"/{STATE}/received/ben")  # fmt: skip
    for account in ("anna", "ben"):
        login = "demo@example.com" if account == "anna" else "ben@example.com"
        machine.program("accounts", "add", account, "--login", login)
        machine.program("--account", account, "receive", "token", "add", "phone")
    machine.program("--account", "anna", "auth", "login", "--password-stdin", input=PASSWORD + "\n")
    drop_in(
        machine, "clarity-jobs-receive.service", "[Service]", "ExecStart=",
        "ExecStart=/usr/bin/clarity-jobs --account anna receive --listen 127.0.0.1:9188",
        f"BindReadOnlyPaths=/{STATE}/accounts/anna/push",
    )  # fmt: skip
    start(world)
    machine.run("systemctl", "enable", "--now", "clarity-jobs-exporter", "clarity-jobs-receive")

    def look(when):
        seen = seen_by(machine, "clarity-jobs-receive")
        extra = {name for name in seen if not name.startswith(("accounts/anna/push/", "received/"))}
        expect("accounts/anna/push/tokens" in seen and not extra, when, sorted(extra or seen))
        seen = seen_by(machine, "clarity-jobs-exporter")
        extra = {name for name in seen if name.startswith(("accounts/", "keys/", "received/"))}
        expect("history.db" in seen and not extra, when, "the exporter sees", sorted(extra or seen))

    look("at first")
    machine.run("systemctl", "stop", "clarity-jobs")
    machine.program("--account", "anna", "key", "rotate")
    machine.program("--account", "anna", "backup")
    look("after a change of the key")


def user_service(world):
    """A person's own service, which `init` makes: it starts with the machine once the person lingers,
    and systemd knows when it is ready."""
    machine = world.machine
    machine.boot()
    install(world)
    machine.run("useradd", "--create-home", "anna")
    machine.run("loginctl", "enable-linger", "anna")
    number = machine.run("id", "-u", "anna").strip()
    own = {"XDG_RUNTIME_DIR": f"/run/user/{number}", "HOME": "/home/anna"}
    until(lambda: machine.is_active(f"user@{number}"), "anna has no service manager")
    machine.run(
        "clarity-jobs", "init", "--yes", "--backend", URL, "--email", "demo@example.com",
        "--path", EXPORT, "--hours", "always", "--time-zone", "Europe/London", "--no-sync",
        "--password-stdin", "--start", "systemd",
        user="anna", input=PASSWORD + "\n", environment=own,
    )  # fmt: skip
    machine.run("test", "-e", "/home/anna/.config/systemd/user/clarity-jobs.service", status=1)
    all_sent(world)
    machine.reboot()
    show = ["systemctl", "--user", "show", "clarity-jobs", "-P"]

    def shows(name):
        return machine.run(*show, name, user="anna", environment=own, status=None).strip()

    until(lambda: shows("ActiveState") == "active", "it does not run after a boot")
    expect(shows("Type") == "notify", "the type is", shows("Type"))
    until(lambda: "next com." in shows("StatusText"), "the status does not say what comes next")
    machine.run("clarity-jobs", "audit", user="anna", environment=own)


def journal_of_a_day(world):
    """A day of the loop, an hour at a time, with an hour without a network: its journal is printed."""
    machine = world.machine
    world.clock.install()
    installed(world)
    start(world)
    all_sent(world)

    def is_done(seconds):
        """Whether nothing runs, and what comes next is later than this clock."""
        status = machine.run("systemctl", "show", "-P", "StatusText", "clarity-jobs").strip()
        now = datetime.now(timezone.utc) + timedelta(seconds=seconds)
        return "runs " not in status and status.split(" at ")[-1] > f"{now:%Y-%m-%dT%H:%M:%SZ}"

    for hour in range(1, 25):
        if hour == 9:
            world.network.disconnect()
        if hour == 10:
            world.network.connect()
        world.clock.set(hour * 3600, slept=hour * 3600)
        # The loop sleeps by the machine's clock, so another process wakes it.
        machine.run("sh", "-c", f"touch /{STATE}/owners/*")
        until(lambda: is_done(hour * 3600), f"a job does not end in hour {hour}")
    print(machine.run("journalctl", "-u", "clarity-jobs", "-o", "cat", "--no-pager"))
    sound(world)


SERVICES = [
    hung_loop,
    failed_service,
    pages_by_socket,
    one_instance_a_person,
    folders_of_others,
    units_see_their_part,
    units_see_no_account,
    user_service,
    journal_of_a_day,
]
