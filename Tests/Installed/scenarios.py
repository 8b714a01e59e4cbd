"""What happens to an installed clarity-jobs in the life of a machine. Each function is a scenario
with a machine and a backend of its own; at its end, the audit is sound, the backend has each sample
once, and nothing of ours in the journal is a warning or worse, but for what the scenario expects.
"""

from pathlib import Path

from backend import PASSWORD, URL
from machine import expect, until

STATE = Path("var/lib/clarity-jobs")
EXPORT = "/srv/export.zip"
UPLOAD = "com.clarity.healthkit.upload"
SAMPLES = 845  # what clarity-jobs makes of Examples/export.zip


# What scenarios have in common


def install(world, version="current", *packages):
    """Installs packages of a version as a person does, from a folder."""
    packages = packages or ("clarity-jobs", "clarity-jobs-web")
    files = [str(world.deb(package, version)) for package in packages]
    return world.machine.apt("install", *files)


def initialise(world, *options):
    return world.machine.program(
        "init", "--yes", "--backend", URL, "--email", "demo@example.com", "--path", EXPORT,
        "--hours", "always", "--time-zone", "Europe/London", "--password-stdin", *options,
        input=PASSWORD + "\n",
    )  # fmt: skip


def start(world, status=0):
    world.machine.run("systemctl", "start", "clarity-jobs", status=status)


def installed(world, *options, version="current"):
    """Boots, installs, sets up without sending, and starts the service."""
    world.machine.boot()
    install(world, version)
    initialise(world, "--no-sync", *options)


def all_sent(world, samples=SAMPLES):
    return until(
        lambda: world.backend.summary()["samples"] == samples, "the backend has not every sample", 120
    )


def sound(world, *allowed, samples=SAMPLES):
    """Checks what must hold after everything; `allowed` are texts that the journal may have."""
    all_sent(world, samples)
    world.machine.program("audit")
    summary = world.backend.summary()
    expect(summary["doubled"] == 0, "the backend has samples twice:", summary)
    expect(summary["dropped"] == {}, "the backend dropped samples:", summary)
    signs = ("fail", "without a word", "lost")
    # systemd in a container may not kill a control group at once, and then kills its processes.
    allowed = ("Failed to kill control group", *allowed)
    faults = [
        text
        for priority, text in world.machine.journal()
        if priority <= 4 or any(sign in text.lower() for sign in signs)
        if not any(part in text for part in allowed)
    ]
    expect(not faults, "the journal has:", *faults[:20])


def sent_some(world):
    """Lets the service send three batches, and returns while the fourth waits for its answer."""
    world.backend.fault("POST /health-data/upload: pass x3, hang x*")
    start(world)
    until(lambda: 0 < world.backend.summary()["samples"] < SAMPLES, "nothing was sent")
    until(lambda: "clarity-jobs-worker" in world.machine.run("ps", "-eo", "args"), "no upload runs")


# The scenarios


def install_and_first_sync(world):
    """Installed and not set up: nothing runs. After `init`: it runs, and after each boot."""
    world.machine.boot()
    said = install(world)
    expect("clarity-jobs:" not in said, "the packages talk:", said)
    expect(not world.machine.is_active(), "it runs before there is a job file")
    for unit, word in {
        "clarity-jobs": "enabled", "clarity-jobs-run.timer": "disabled",
        "clarity-jobs-web": "disabled", "clarity-jobs-exporter": "disabled",
        "clarity-jobs-receive": "disabled",
    }.items():  # fmt: skip
        is_now = world.machine.run("systemctl", "is-enabled", unit, status=None).strip()
        expect(is_now == word, unit, "is", is_now)
    world.machine.reboot()
    expect(not world.machine.is_active(), "it runs after a boot before there is a job file")
    expect(world.machine.run("ls", "-A", f"/{STATE}") == "", "there is state before `init`")
    initialise(world)
    expect(world.backend.summary()["samples"] == SAMPLES, "`init` did not send everything")
    start(world)
    expect(world.machine.is_active(), "it does not run after `init`")
    world.machine.reboot()
    until(world.machine.is_active, "it does not run after a boot")
    sound(world)


def web_pages(world):
    """The units of the web package run once they are enabled, and after an upgrade."""
    installed(world, version="older")
    start(world)
    units = ["clarity-jobs-web", "clarity-jobs-exporter"]
    world.machine.run("systemctl", "enable", "--now", *units)
    install(world)
    for unit in units:
        until(lambda: world.machine.is_active(unit), f"{unit} does not run after an upgrade")
    metrics = world.backend.request("GET", "/metrics", port=9187)
    expect('clarity_jobs_build_info{version="' in metrics, "the exporter answers:", metrics)
    world.machine.apt("remove", "clarity-jobs-web")
    for unit in units:
        expect(not world.machine.is_active(unit), f"{unit} runs after it was removed")
    sound(world)


def reboot_during_an_upload(world):
    installed(world)
    sent_some(world)
    world.machine.reboot()
    world.backend.fault("")
    sound(world)


def power_cut_during_an_upload(world):
    installed(world)
    sent_some(world)
    world.machine.cut_power()
    world.backend.fault("")
    sound(world, "ended without a word")


def upgrade_from_before_the_packages(world):
    """Programs, units and user as deploy/README.md had them made by hand, and their state."""
    machine = world.machine
    machine.boot()
    machine.run("useradd", "--system", "--home-dir", f"/{STATE}", "--create-home", "clarity-jobs")
    machine.run("install", "-d", "-o", "clarity-jobs", "/etc/clarity-jobs")
    for name in ("", "-worker", "-keeper", "-web"):
        machine.run("install", f"/release/bin/clarity-jobs{name}", "/usr/local/bin/")
    machine.run("cp", "/release/deploy/systemd/clarity-jobs.service", "/etc/systemd/system/")
    initialise(world, "--no-sync", "--config", "/etc/clarity-jobs/jobs.yaml", "--state", f"/{STATE}")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "enable", "clarity-jobs")
    sent_some(world)
    machine.run("systemctl", "disable", "--now", "clarity-jobs")
    machine.run("sh", "-c", "rm /etc/systemd/system/clarity-jobs* /usr/local/bin/clarity-jobs*")
    world.backend.fault("")
    install(world)
    until(machine.is_active, "it does not run after the first package")
    sound(world)


def upgrade_during_an_upload(world):
    installed(world, version="older")
    sent_some(world)
    world.backend.fault("")
    install(world)
    until(world.machine.is_active, "it does not run after an upgrade")
    sound(world)


def downgrade_is_refused(world):
    installed(world)
    start(world)
    all_sent(world)
    files = [str(world.deb(name, "older")) for name in ("clarity-jobs", "clarity-jobs-web")]
    said = world.machine.apt("install", "--allow-downgrades", *files, status=100)
    refusals = [line for line in said.splitlines() if "cannot go back from" in line]
    expect(len(refusals) == 1, "the refusal is not one line:", said)
    expect(world.machine.is_active(), "a refused downgrade stopped the service")
    sound(world)


def full_disk(world):
    installed(world)
    world.machine.run("sh", "-c", f"head -c 1G /dev/zero > /{STATE}/ballast", status=1)
    start(world, status=(0, 1))
    until(
        lambda: any("is full" in text for _, text in world.machine.journal()),
        "nobody says that the disk is full",
    )
    world.machine.run("rm", f"/{STATE}/ballast")
    all_sent(world)
    sound(world, "is full", "Failed with result", "status=74", "Failed to start")


def remove_and_purge(world):
    machine = world.machine
    installed(world)
    start(world)
    all_sent(world)
    machine.apt("remove", "clarity-jobs", "clarity-jobs-web")
    expect(not machine.is_active(), "it runs after it was removed")
    install(world)
    until(machine.is_active, "it does not run after it was installed again")
    sound(world)
    said = machine.apt("purge", "clarity-jobs", "clarity-jobs-web")
    expect(f"your health data stays in /{STATE}" in said, "a purge does not say what stays:", said)
    machine.run("test", "-e", f"/{STATE}/health.db", "-a", "-e", "/etc/clarity-jobs/jobs.yaml")
    install(world)
    sound(world)
    machine.run("touch", f"/{STATE}/remove-on-purge")
    machine.apt("purge", "clarity-jobs", "clarity-jobs-web")
    left = machine.run("find", f"/{STATE}", "/etc/clarity-jobs", status=1)
    expect("No such file" in left and "health.db" not in left, "a purge left:", left)


def network_comes_later(world):
    world.network.disconnect()
    installed(world)
    machine_file = world.machine.root / "etc/clarity-jobs/jobs.yaml"
    expect("network: any" in machine_file.read_text(), "the upload waits for no network")
    world.machine.reboot()
    until(world.machine.is_active, "it does not run without a network")
    waits = until(
        lambda: (text := world.machine.program("list")) and "network" in text and text,
        "the upload does not wait for the network",
    )
    expect(world.backend.summary()["samples"] == 0, "something was sent without a network:", waits)
    world.network.connect()
    sound(world)


def clock_an_hour_off(world):
    """The clock is an hour behind at boot, as without a battery, then right, then an hour ahead. Each
    time a command runs beside the service, which must leave it its attempts, as it leaves them."""
    world.clock.install()
    world.clock.set(-3600)
    installed(world)
    world.machine.reboot()
    all_sent(world)
    for seconds in (0, 3600):
        world.clock.set(seconds)
        # 75, if the upload or what follows it runs in the service at the moment.
        said = world.machine.program(
            "run", UPLOAD, "--force", status=(0, 75), environment=world.clock.variables()
        )
        expect("without a word" not in said, "the command took over an attempt:", said)
        world.machine.run("systemctl", "restart", "clarity-jobs")
    sound(world)


def suspend_during_an_upload(world):
    """A laptop's lid: everything freezes, the network goes, and eight hours later all is back but the
    connections, which the other end has closed."""
    world.clock.install()
    installed(world)
    sent_some(world)
    frozen = world.machine.freezer()
    frozen.write_text("1")
    world.network.disconnect()
    world.clock.set(8 * 3600, slept=8 * 3600)
    world.backend.restart(world.clock.outside())
    frozen.write_text("0")
    world.network.connect()
    sound(world)


SCENARIOS = [
    install_and_first_sync,
    web_pages,
    reboot_during_an_upload,
    power_cut_during_an_upload,
    upgrade_from_before_the_packages,
    upgrade_during_an_upload,
    downgrade_is_refused,
    full_disk,
    remove_and_purge,
    network_comes_later,
    clock_an_hour_off,
    suspend_during_an_upload,
]
