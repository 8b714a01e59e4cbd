"""A demo state with invented data, and the pages that are served of it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import invented_export
from datetime import datetime, timezone

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PAGES_PROGRAMS") or ROOT / ".build/debug")
JOBS = """\
version: 1
backend: {{ url: "{url}" }}
sources:
  - kind: apple-health-export
    path: export.zip
    time_zone: Europe/London
fresh: {{ heart_rate: 26h, sleep: 36h, insights: 36h }}
# This machine is the only one that the jobs need, so nothing but a check holds them back.
checks:
  nas: {{ command: ["test", "-e", "{folder}/nas"], valid_for: 60s }}
jobs:
  - id: com.clarity.refresh
    kind: refresh
    class: app-refresh
    schedule: {{ every: 4h }}
    constraints: {{ network: none }}
  - id: com.clarity.healthkit.upload
    kind: bulk-upload
    schedule: {{ every: 1h, earliest_begin: 15m }}
    constraints: {{ network: none }}
    then: [com.clarity.processing-status]
  - id: com.clarity.processing-status
    kind: processing-status
    schedule: {{ every: 15m }}
    constraints: {{ network: none }}
  - id: com.clarity.insights
    kind: insight-history
    schedule: {{ cron: "0 6,18 * * *", time_zone: Europe/London }}
    constraints: {{ network: none }}
  - id: com.clarity.cleanup
    kind: cleanup
    schedule: {{ cron: "30 3 * * *", time_zone: Europe/London }}
  - id: backup
    kind: command
    options: {{ command: ["sh", "-c", "echo 14 files saved, 212 unchanged"] }}
    schedule: {{ cron: "0 2 * * *", time_zone: Europe/London }}
    constraints: {{ check: nas }}
"""


class Served:
    """Ends with `close`, and its processes with it. With PAGES_SERVER in the environment, that
    server shows the state of the environment, and nothing is started. A state of 0 years has
    neither data nor a login."""

    def __init__(self, years=10):
        self.processes = []
        self.folder = None
        self.environment = dict(os.environ)
        self.url = os.environ.get("PAGES_SERVER")
        if not self.url:
            try:
                self.begin(years)
            except BaseException:
                self.close()
                raise

    def begin_with(self, jobs):
        """Starts a backend, and writes the job file."""
        self.folder = Path(tempfile.mkdtemp(prefix="pages-"))
        backend = self.start(
            "sandbox",
            *("--listen", "127.0.0.1:0", "--data", self.folder / "backend"),
            *("--processing-steps", "2", "--exit-with-stdin"),
        )
        url = self.first(backend, r"http://\S+")
        job_file = self.folder / "jobs.yaml"
        job_file.write_text(jobs.format(url=url, folder=self.folder))
        # Whatever the umask: nobody else may write it.
        job_file.chmod(0o600)
        self.environment |= {
            "HOME": str(self.folder),
            "CLARITY_JOBS_CONFIG": str(self.folder / "jobs.yaml"),
            "CLARITY_JOBS_STATE": str(self.folder / "state"),
        }

    def begin(self, years):
        self.begin_with(JOBS)
        if years == 0:
            return
        until = datetime.now(timezone.utc).replace(microsecond=0)
        export = invented_export.Export(until, years)
        invented_export.write(export, self.folder / "export.zip")
        login = ("auth", "login", "--email", "demo@example.com", "--password-stdin")
        self.run(*login, given="Demo-Passw0rd!\n")
        jobs = ("refresh", "healthkit.upload", "processing-status", "insights")
        self.run("run", "--force", *(f"com.clarity.{name}" for name in jobs), "backup")

    def serve(self, *options):
        """Starts the pages; returns the one-time link that opens them."""
        if self.folder is None:
            return self.url + "/today"
        server = self.start("serve", "--listen", "127.0.0.1:0", *options)
        self.url = self.first(server, r"http://127\.0\.0\.1:\d+")
        return self.link()

    def link(self):
        return self.run("serve", "link").strip()

    def start(self, *words):
        process = subprocess.Popen(
            [PROGRAMS / "clarity-jobs", *words],
            env=self.environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.processes.append(process)
        return process

    def first(self, process, pattern):
        for line in process.stdout:
            if found := re.search(pattern, line):
                return found.group()
            print(line, end="", file=sys.stderr)
        raise RuntimeError(f"a program ended with {process.wait()} before it was ready")

    def run(self, *words, given=None):
        done = subprocess.run(
            [PROGRAMS / "clarity-jobs", *words],
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 75):
            raise RuntimeError(f"clarity-jobs {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *words):
        """What the command line says."""
        done = subprocess.run(
            [PROGRAMS / "clarity-jobs", *words, "--output", "json"],
            env=self.environment,
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout)

    def stop_pages(self):
        self.end(self.processes.pop())

    @staticmethod
    def end(process):
        process.terminate()
        process.stdin.close()
        process.wait()
        process.stdout.close()

    def close(self):
        for process in reversed(self.processes):
            self.end(process)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def until(holds, what, seconds=15):
    """Waits until something holds, as a reader would, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within {seconds} s")
