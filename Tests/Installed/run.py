"""run.py [SCENARIO...]: runs the scenarios, each in a machine of its own, and ends with 1 if one
fails. INSTALLED_BASE is the Debian, INSTALLED_RELEASE the release, INSTALLED_PACKAGES a folder with
the packages as `current` and `older`, INSTALLED_WORK a folder for what machines write.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from backend import Backend, Network
from machine import Failure, Machine
from scenarios import EXPORT, SCENARIOS, STATE
from services import SERVICES

BASE, RELEASE, PACKAGES, WORK = (
    Path(os.environ[f"INSTALLED_{name}"]) for name in ("BASE", "RELEASE", "PACKAGES", "WORK")
)


class Clock:
    """The clock of the service, which a library moves that systemd loads into it."""

    LIBRARY, FILE = "usr/local/lib/clock.so", "etc/clock-offset"

    def __init__(self, root):
        self.root = root

    def variables(self, root="/"):
        """Returns the variables that give a program this clock, below `root` if it is outside."""
        return {"LD_PRELOAD": f"{root}{self.LIBRARY}", "CLOCK_FILE": f"{root}{self.FILE}"}

    def install(self):
        source = Path(__file__).with_name("clock.c")
        words = ["cc", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", str(source)]
        subprocess.run([*words, "-o", str(self.root / self.LIBRARY)], check=True)
        unit = self.root / "etc/systemd/system/clarity-jobs.service.d/clock.conf"
        unit.parent.mkdir(parents=True)
        pairs = " ".join(f"{name}={value}" for name, value in self.variables().items())
        unit.write_text(f"[Service]\nEnvironment={pairs}\n")
        self.set(0)

    def set(self, wall, slept=0):
        (self.root / self.FILE).write_text(f"{wall} {slept}\n")

    def outside(self):
        return self.variables(f"{self.root}/")


class World:
    """A machine, its network and its backend."""

    def __init__(self, name):
        self.folder = WORK / name
        self.folder.mkdir(parents=True)
        self.network = Network("installed")
        self.backend = Backend(
            self.network, str(RELEASE / "bin/clarity-jobs-sandbox"), self.folder
        )
        binds = [(RELEASE, "/release"), (PACKAGES, "/packages")]
        if name == "full_disk":
            binds.append((self.small_disk(), f"/{STATE}"))
        self.machine = Machine(BASE, self.folder / "machine", self.network.name, binds)
        export = (RELEASE / "Examples/export.zip").read_bytes()
        (self.machine.root / EXPORT.lstrip("/")).write_bytes(export)
        self.clock = Clock(self.machine.root)

    def small_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48M", "disk", str(disk)], check=True)
        return disk

    def deb(self, package, version):
        """Returns the path of a package in the machine."""
        found = next((PACKAGES / version).glob(f"{package}_*.deb"))
        return Path("/packages") / version / found.name

    def call(self, *command):
        """Runs a command outside of the machine, and returns what it wrote."""
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def remove(self):
        self.machine.remove()
        self.backend.remove()
        self.network.remove()


def tell_journal(machine):
    """Prints what a failed scenario left in the journal, if the machine still answers."""
    try:
        for priority, text in machine.journal():
            print(f"    <{priority}> {text}", flush=True)
    except (Failure, OSError, subprocess.SubprocessError, ValueError):
        print("    the machine does not answer:", machine.console(), flush=True)


def run(scenario):
    """Runs a scenario, and returns whether all was as expected."""
    began = time.monotonic()
    world = World(scenario.__name__)
    try:
        scenario(world)
        world.machine.stop()
        print(f"ok      {scenario.__name__}  {time.monotonic() - began:.0f} s", flush=True)
        return True
    except (Failure, OSError, subprocess.SubprocessError, ValueError) as problem:
        print(f"failed  {scenario.__name__}\n{problem}", flush=True)
        tell_journal(world.machine)
        return False
    finally:
        world.remove()


def main(names):
    known = {scenario.__name__: scenario for scenario in SCENARIOS + SERVICES}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 64
    results = [run(known[name]) for name in names or known]
    print(f"{sum(results)} of {len(results)} scenarios as expected")
    return 0 if all(results) else 1


sys.exit(main(sys.argv[1:]))
