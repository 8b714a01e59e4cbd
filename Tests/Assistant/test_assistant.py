"""`clarity-jobs mcp`, asked with the official SDK, which nobody here wrote."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timezone
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PAGES_PROGRAMS") or ROOT / ".build/debug")
sys.path.insert(0, str(ROOT / "Tests/Pages"))
import invented_export  # noqa: E402

JOBS = """\
version: 1
sources:
  - {{ kind: apple-health-export, path: {folder}/export.zip, time_zone: Europe/London }}
jobs:
  - {{ id: import, kind: import, schedule: 1h }}
mcp: {{ {allowed} }}
"""


class AssistantCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.place.name)
        until = datetime.now(timezone.utc).replace(microsecond=0)
        invented_export.write(invented_export.Export(until, 3), cls.folder / "export.zip")
        cls.allow("sleep: true, activity: true, jobs: true")
        cls.command("run", "import")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def allow(cls, words):
        path = cls.folder / "jobs.yaml"
        path.write_text(JOBS.format(folder=cls.folder, allowed=words))
        path.chmod(0o600)

    @classmethod
    def words(cls):
        return ["--config", str(cls.folder / "jobs.yaml"), "--state", str(cls.folder / "state")]

    @classmethod
    def command(cls, *words):
        done = subprocess.run(
            [PROGRAMS / "clarity-jobs", *cls.words(), *words], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def ask(self, *questions):
        """The names of the tools, and the answer to each question."""

        async def answers():
            server = StdioServerParameters(
                command=str(PROGRAMS / "clarity-jobs"), args=[*self.words(), "mcp"]
            )
            async with stdio_client(server) as streams, ClientSession(*streams) as session:
                await session.initialize()
                names = [tool.name for tool in (await session.list_tools()).tools]
                return names, [await session.call_tool(*one) for one in questions]

        return asyncio.run(answers())

    def test_answers_are_those_of_the_command_line(self):
        names, (nights, trends) = self.ask(("nights", {"since": "14d"}), ("trends", {}))
        self.assertEqual(names, ["days", "nights", "trends", "jobs", "why"])
        shown = json.loads(nights.content[0].text)
        known = json.loads(self.command("nights", "--since", "14d", "--output", "json"))
        self.assertEqual(
            [(row["night"], row["asleep_minutes"]) for row in shown["rows"]],
            [(row["night"], row["asleep_minutes"]) for row in known["rows"]],
        )
        self.assertEqual(shown["time_zone"], "Europe/London")
        measures = {row["measure"] for row in json.loads(trends.content[0].text)["trends"]}
        self.assertIn("steps", measures)
        self.assertNotIn("heart_rate", measures)

    def test_an_answer_is_bounded_and_says_so(self):
        _, (days,) = self.ask(("days", {"type": "steps", "since": "2015-01-01"}))
        answer = json.loads(days.content[0].text)
        shown = sum(len(one["days"]) for one in answer["measures"])
        self.assertEqual(shown, 400)
        known = json.loads(
            self.command("metrics", "steps", "--since", "2015-01-01", "--output", "json")
        )
        whole = known["measures"][0]["days"]
        self.assertEqual(answer["incomplete"]["left_out"], len(whole) - 400)
        self.assertEqual(answer["measures"][0]["days"], whole[-400:])

    def test_what_the_job_file_does_not_allow_is_refused(self):
        _, (refused, wrong) = self.ask(
            ("days", {"type": "heart_rate"}), ("nights", {"since": "--yes"})
        )
        self.assertTrue(refused.is_error and wrong.is_error)
        self.assertIn("does not allow `heart_rate`", refused.content[0].text)
        self.allow("jobs: true")
        try:
            names, (why,) = self.ask(("why", {"job": "import"}))
            self.assertEqual(names, ["jobs", "why"])
            self.assertEqual(json.loads(why.content[0].text)["job"], "import")
        finally:
            self.allow("sleep: true, activity: true, jobs: true")

    def test_each_reading_is_in_the_audit_log(self):
        before = self.command("audit", "log").count("to an assistant: nights")
        self.ask(("nights", {"since": "3d"}), ("nights", {"by": "month"}))
        after = self.command("audit", "log").count("to an assistant: nights")
        self.assertEqual(after - before, 2)


if __name__ == "__main__":
    unittest.main()
