"""A Debian that boots in a container of its own, over a root that stays as it is."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

REBOOT = 133  # what systemd-nspawn(1) ends with after a reboot
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": "/root",
}


class Failure(Exception):
    """What a scenario expected and did not find."""


def expect(holds, *what):
    if not holds:
        raise Failure(" ".join(str(part) for part in what))


def until(question, what, seconds=60):
    """Asks until the answer is true, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        expect(time.monotonic() < deadline, f"after {seconds} s:", what)
        time.sleep(0.1)


class Machine:
    """A machine whose writes go to a folder of its own; `network` is the name of its namespace."""

    def __init__(self, base, folder, network, binds=()):
        self.folder = Path(folder)
        self.root = self.folder / "root"
        self.network = network
        self.binds = [f"--bind={outside}:{inside}" for outside, inside in binds]
        self.process = self.leader = None
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        layers = f"lowerdir={base},upperdir={self.folder}/upper,workdir={self.folder}/work"
        subprocess.run(
            ["mount", "-t", "overlay", "machine", "-o", layers, str(self.root)], check=True
        )

    # The machine as a whole

    def boot(self):
        """Starts the machine, and returns when its systemd says that it has booted."""
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = self.folder / "notify"
        path.unlink(missing_ok=True)
        notices.bind(str(path))
        notices.settimeout(60)
        self.process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "-b", "-D", str(self.root), "--register=no"]
            + ["--keep-unit", "--link-journal=no", "--console=pipe", "--notify-ready=yes"]
            + [f"--network-namespace-path=/run/netns/{self.network}", *self.binds],
            env={**os.environ, "NOTIFY_SOCKET": str(path)},
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / "console").open("ab"),
            stderr=subprocess.STDOUT,
        )
        heard = ""
        while "READY=1" not in heard:
            try:
                heard += notices.recv(4096).decode() + "\n"
            except TimeoutError:
                raise Failure("the machine did not boot:", self.console()) from None
        self.leader = int(re.search(r"X_NSPAWN_LEADER_PID=(\d+)", heard)[1])
        notices.close()

    def reboot(self):
        """Shuts the machine down in order, and boots it again."""
        self.start("systemctl", "reboot")
        status = self.process.wait(120)
        expect(status == REBOOT, "a reboot ended with", status)
        self.boot()

    def cut_power(self):
        """Kills every process of the machine at once, and boots it again."""
        os.kill(self.leader, 9)
        self.process.wait(60)
        self.boot()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.start("systemctl", "poweroff")
            self.process.wait(120)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        subprocess.run(["umount", "--lazy", str(self.root)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def freezer(self):
        """Returns the file that freezes all processes of the machine."""
        lines = Path(f"/proc/{self.leader}/cgroup").read_text().splitlines()
        group = next(line[3:] for line in lines if line.startswith("0::"))
        group = group.removesuffix("/init.scope")
        mounts = Path("/proc/mounts").read_text().splitlines()
        mount = next(line.split()[1] for line in mounts if line.split()[2] == "cgroup2")
        return Path(f"{mount}{group}/cgroup.freeze")

    def console(self):
        return (self.folder / "console").read_text(errors="replace")[-2000:]

    # What is in it

    def words(self, command, user, environment, at="/"):
        enter = ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "--root"]
        enter.append(f"--wdns={at}")
        pairs = [f"{name}={value}" for name, value in {**ENVIRONMENT, **environment}.items()]
        change = ["runuser", "-u", user, "--"] if user else []
        return [*enter, "env", "-i", *pairs, *change, *command]

    def start(self, *command):
        return subprocess.Popen(
            self.words(command, None, {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(self, *command, user=None, input="", status=0, environment={}, at="/"):
        """Runs a command in a folder of the machine, and returns what it wrote. `status` None allows
        any, and several allow each of them."""
        result = subprocess.run(
            self.words(command, user, environment, at),
            input=input,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if status is not None:
            expect(
                result.returncode in (status if isinstance(status, tuple) else (status,)),
                f"`{' '.join(command)}` ended with {result.returncode}:\n{result.stdout}",
            )
        return result.stdout

    def program(self, *words, **options):
        """Runs clarity-jobs as the user of the service."""
        return self.run("clarity-jobs", *words, user="clarity-jobs", **options)

    def apt(self, *words, status=0):
        return self.run("apt-get", "-q", "-y", *words, status=status,
                        environment={"DEBIAN_FRONTEND": "noninteractive"})

    def is_active(self, unit="clarity-jobs"):
        return self.run("systemctl", "is-active", unit, status=None).strip() == "active"

    def journal(self):
        """Returns what our units wrote, and what systemd wrote about them, as (priority, text)."""
        lines = self.run("journalctl", "--no-pager", "--quiet", "-o", "json").splitlines()
        for line in lines:
            entry = json.loads(line)
            unit = entry.get("UNIT") or entry.get("_SYSTEMD_UNIT") or ""
            if unit.startswith("clarity-jobs"):
                yield int(entry.get("PRIORITY", 6)), str(entry.get("MESSAGE"))
