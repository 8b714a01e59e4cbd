"""The pages in a real browser, over a demo state with an invented decade."""

import base64
import csv
import re
import sqlite3
import tempfile
import time
import unittest
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

import axe_core_python
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import NARROW, WIDE, Browser
from served import Served, until

PAGES = (
    "today",
    "explore",
    "sleep",
    "workouts",
    "activity",
    "trends",
    "year",
    "diary",
    "ecgs",
    "records",
    "insights",
    "jobs",
    "runs/2",
    "data",
    "sources",
    "machine",
    "access",
)
# What a reader without a mouse has to reach.
CONTROLS = (
    "[...document.querySelectorAll('a[href], button, select, input, summary, [tabindex=\"0\"]')]"
    ".filter((one) => one.tabIndex >= 0 && one.checkVisibility())"
)
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()


def setUpModule():
    global served, browser
    served = Served()
    try:
        link = served.serve()
        browser = Browser()
        browser.get(link)
        until(browser.settled, "the first page")
    except BaseException:
        served.close()
        raise


def tearDownModule():
    browser.quit()
    served.close()


def numbers(text):
    """The whole numbers of a text, without the separators of thousands."""
    return [int(word) for word in re.findall(r"\d+", text.replace(",", ""))]


class PagesCase(unittest.TestCase):
    def setUp(self):
        browser.resize(WIDE)
        browser.theme(False)

    def open(self, page):
        browser.get(f"{served.url}/{page}")
        until(browser.settled, f"the page {page}")


class Numbers(PagesCase):
    """Each page shows what the command line says."""

    def test_today_shows_the_summary(self):
        self.open("today")
        summary = served.json("summary")
        for item in summary["items"]:
            if item["value"] is None:
                continue
            shown = browser.values(f'[data-measure="{item["name"]}"] .value data')
            self.assertEqual(shown, [item["value"]], item["name"])
        self.assertIn(summary["insight"]["narrative"], browser.text("#main"))

    def test_explore_shows_the_days_of_a_year(self):
        self.open("explore?type=HeartRate")
        until(lambda: browser.text("#shown data.min"), "the numbers")
        rows = served.json("records", "HeartRate", "--by", "day", "--since", "365d")["rows"]
        first = (datetime.now(timezone.utc) - timedelta(days=364)).strftime("%Y-%m-%d")
        rows = [row for row in rows if row["day"] >= first]
        self.assertEqual(browser.values("#shown data.min"), [min(row["min"] for row in rows)])
        self.assertEqual(browser.values("#shown data.max"), [max(row["max"] for row in rows)])
        count = sum(row["count"] for row in rows)
        mean = sum(row["mean"] * row["count"] for row in rows) / count
        self.assertAlmostEqual(browser.values("#shown data.mean")[0], mean, places=6)

    def test_explore_shows_merged_days_of_steps(self):
        self.open("explore?type=StepCount&from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z")
        until(lambda: browser.text("#shown data.max"), "the numbers")
        days = served.json("metrics", "steps", "--since", "3650d")["measures"][0]["days"]
        self.assertIn(browser.values("#shown data.max")[0], {day["total"] for day in days})

    def test_sleep_shows_the_mean_of_the_nights(self):
        self.open("sleep")
        measures = served.json("metrics", "sleep", "--since", "14d")["measures"]
        totals = [
            day["total"]
            for one in measures
            if one["measure"] == "total_sleep_minutes"
            for day in one["days"]
        ]
        self.assertEqual(browser.values(".card .value data")[0], round(sum(totals) / len(totals)))
        # The night that ends today may go on, so until it is over it has records but no total.
        nights = len(browser.find_elements(By.CSS_SELECTOR, ".night-row svg"))
        self.assertIn(nights - len(totals), (0, 1))

    def test_workouts_shows_every_workout(self):
        self.open("workouts")
        rows = served.json("records", "Workout", "--by", "raw", "--since", "90d")["rows"]
        self.assertEqual(browser.values("#workouts"), [len(rows)])

    def test_insights_shows_every_text(self):
        self.open("insights")
        insights = served.json("insights")
        self.assertEqual(browser.texts(".narrative"), [one["narrative"] for one in insights])

    def test_insights_are_shown_in_portions(self):
        insights = served.json("insights")
        self.assertGreater(len(insights), 1)
        self.open("insights?shown=1")
        self.assertEqual(browser.texts(".narrative"), [insights[0]["narrative"]])
        browser.find_element(By.LINK_TEXT, "Show earlier insights").click()
        until(lambda: len(browser.texts(".narrative")) == len(insights), "the other insights")
        self.assertEqual(served.json("insights", "-n", "1", "--offset", "1"), insights[1:2])

    def test_jobs_shows_every_job_and_what_it_measured(self):
        self.open("jobs")
        jobs = [one["job"] for one in served.json("list")]
        self.assertEqual(
            browser.execute_script(
                "return [...document.querySelectorAll('[data-job]')].map((one) => one.dataset.job)"
            ),
            jobs,
        )
        for job in jobs:
            shown = browser.text(f'[data-job="{job}"]')
            for constraint in served.json("explain", job)["constraints"]:
                self.assertIn(constraint["measured"], shown)

    def test_jobs_shows_what_was_missed_without_a_run(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        now = int(time.time()) * 1000
        with sqlite3.connect(served.folder / "state/history.db", timeout=30) as history:
            for first, latest, count, fate in (
                (now - 40 * 3_600_000, now - 30 * 3_600_000, 11, "expired"),
                (now - 20 * 3_600_000, now - 20 * 3_600_000, 1, "paused"),
            ):
                history.execute(
                    "INSERT INTO occurrence_fates"
                    " (job_id, era, first_ms, latest_ms, occurrences, fate)"
                    " VALUES ('backup', 0, ?, ?, ?, ?)",
                    (first, latest, count, fate),
                )
        history.close()
        self.open("jobs")
        missed = served.json("history", "missed", "backup")
        self.assertEqual([one["occurrences"] for one in missed], [1, 11])
        titles = browser.texts(".timeline rect.missed title")
        for one in missed:
            self.assertTrue(any(one["words"] in title for title in titles), one["words"])
        browser.find_element(By.XPATH, "//summary[text()='Missed starts as a table']").click()
        table = until(lambda: browser.text("[aria-label='Missed starts']"), "the table")
        for one in missed:
            self.assertIn(one["words"], table)

    def test_a_failed_job_comes_first(self):
        if served.folder is None:
            self.skipTest("the server is not ours")

        def change(statement):
            with sqlite3.connect(served.folder / "state/history.db", timeout=30) as history:
                number = history.execute(
                    "SELECT max(id) FROM runs WHERE job_id = 'backup' AND attempts > 0"
                ).fetchone()[0]
                history.execute(f"UPDATE runs SET {statement} WHERE id = ?", (number,))
            history.close()
            return number

        reason = "exited with status 1: no repository"
        number = change(
            f"state = 'failed', failure_category = 'work', failure_reason = '{reason}'"
        )
        try:
            self.open("today")
            notice = browser.text("section.notice")
            self.assertIn("backup failed", notice)
            self.assertIn(reason, notice)
            self.open("jobs")
            self.assertIn("failed last time", browser.text(".lead"))
            first = browser.find_element(By.CSS_SELECTOR, "[data-job]")
            self.assertEqual(first.get_attribute("data-job"), "backup")
            self.assertIn(reason, first.text)
        finally:
            change("state = 'succeeded', failure_category = NULL, failure_reason = NULL")
        self.assertIsNotNone(number)

    def test_a_faulty_job_file_comes_first(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        path = served.folder / "jobs.yaml"
        text = path.read_text()
        try:
            path.write_text(text.replace("id: backup", "id: backup\n    colour: red"))
            self.open("today")
            self.assertIn("backup is held", browser.text("section.notice"))
            self.open("jobs")
            first = browser.find_element(By.CSS_SELECTOR, "[data-job]")
            self.assertEqual(first.get_attribute("data-job"), "backup")
            self.assertIn("unknown key colour in job backup", first.text)
            path.write_text("version: 1\njobs: [\n")
            self.open("today")
            self.assertIn("The job file has a fault", browser.text("section.notice"))
        finally:
            path.write_text(text)

    def test_a_run_shows_its_counts_and_output(self):
        self.open("runs/2")
        run = served.json("history", "show", "2")
        for name, value in run["counts"].items():
            if value:
                self.assertEqual(browser.values(f'[data-count="{name}"]'), [value], name)
        backup = served.json("history", "backup", "-n", "1")[0]["run"]
        self.open(f"runs/{backup}")
        self.assertEqual(browser.text(".output"), "14 files saved, 212 unchanged\n")

    def test_jobs_shows_what_a_running_job_writes_and_when_it_starts_next(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        path, gate = served.folder / "jobs.yaml", served.folder / "gate"
        text = path.read_text()
        command = f"echo first file; while test ! -e {gate}; do sleep 0.1; done"
        shown = '[data-job="slow"]'
        path.write_text(
            f"{text}  - id: slow\n    kind: command\n"
            f"    options: {{ command: [sh, -c, '{command}'] }}\n"
            '    schedule: { cron: "0 2 * * *", time_zone: Europe/London }\n'
        )
        run = served.start("run", "slow")
        try:
            self.open("jobs")
            until(lambda: browser.text(f"{shown} .output") == "first file", "the output")
            line = browser.text(f"{shown} .job-line")
            # At 2 in the morning, in the zone that all pages use.
            self.assertRegex(line, r"Runs now, started .*\. Next start .*\b0?2:00 ")
            gate.touch()
            run.communicate()
            until(lambda: not browser.texts(f"{shown} .output"), "a page without it")
            self.assertIn("succeeded", browser.text(shown))
        finally:
            gate.touch()
            served.end(run)
            served.processes.remove(run)
            path.write_text(text)
            gate.unlink()

    def test_the_flow_shows_the_sums_of_the_ledger(self):
        self.open("data")
        outbox = served.json("outbox")
        shown = browser.execute_script(
            "return Object.fromEntries([...document.querySelectorAll('[data-block]')]"
            ".map((one) => [one.dataset.block, Number(one.textContent.replace(/\\D/g, ''))]))"
        )
        for name, value in outbox["records"].items():
            self.assertEqual(shown.get(f"records.{name}", 0), value, name)
        for name, value in outbox["outbox"].items():
            if name != "samples":
                self.assertEqual(shown.get(f"outbox.{name}", 0), value, name)
        states = sum(
            value
            for name, value in shown.items()
            if name.startswith("outbox.") and name != "outbox.samples"
        )
        self.assertEqual(shown["outbox.samples"], states)

    def test_sources_machine_and_access_show_what_the_commands_say(self):
        self.open("sources")
        for name, value in served.json("sources")[0]["counts"].items():
            if value:
                self.assertEqual(browser.values(f'[data-count="{name}"]'), [value], name)
        self.open("machine")
        shown = browser.texts("[data-condition]")
        for one in served.json("doctor")["conditions"]:
            if one["name"] not in ("storage_free_bytes", "pressure_percent"):
                self.assertIn(one["words"], shown, one["name"])
        self.open("access")
        newest = served.json("audit", "log")[-1]["number"]
        shown = numbers(browser.text("[data-entry]"))[0]
        self.assertLessEqual(newest - shown, 5)


class Doing(PagesCase):
    """What a reader does."""

    def test_a_session_is_listed_and_ended(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        token = served.link()
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(token) as page:
            self.assertEqual(page.status, 200)
        self.open("access")
        sessions = served.json("serve", "sessions", "list")
        shown = browser.texts("[data-session]")
        self.assertEqual(shown, [one["session"] for one in reversed(sessions)])
        row = "//tr[.//*[text()='this browser']]"
        own = browser.find_element(By.XPATH, row).text
        self.assertRegex(own, "Chrome on (Linux|Windows|Mac)")
        self.assertIn("127.0.0.1", own)
        browser.find_element(By.XPATH, "//button[text()='End all others']").click()
        dialog = until(lambda: browser.find_elements(By.CSS_SELECTOR, "dialog[open]"), "a dialog")
        dialog[0].find_element(By.XPATH, ".//button[text()='End all others']").click()
        until(lambda: len(browser.texts("[data-session]")) == 1, "the end of the others")
        self.assertEqual(len(served.json("serve", "sessions", "list")), 1)
        self.assertIn("of the web pages", browser.text("#main"))

    def setUp(self):
        super().setUp()
        served.run("resume", "--all")

    def range(self):
        return browser.execute_script(
            "const words = new URL(location).searchParams;"
            "return [words.get('from'), words.get('to')].map(Date.parse)"
        )

    def length(self):
        first, last = self.range()
        return last - first if first and last else None

    def test_keys_buttons_and_wheel_change_the_range(self):
        self.open("explore?type=HeartRate&from=2025-12-01T00:00:00Z&to=2026-03-01T00:00:00Z")
        until(lambda: browser.text("#shown data"), "the chart")
        before = self.length()
        chart = browser.find_element(By.CSS_SELECTOR, ".chart")
        chart.send_keys("+")
        until(lambda: self.length() < before, "a shorter range")
        shorter, (first, _) = self.length(), self.range()
        chart.send_keys(Keys.ARROW_LEFT)
        until(lambda: self.range()[0] < first, "an earlier range")
        self.assertAlmostEqual(self.length(), shorter, delta=2)
        ActionChains(browser).scroll_from_origin(self.origin(chart), 0, -400).perform()
        until(lambda: self.length() < shorter, "a range that the wheel made shorter")
        browser.find_element(By.XPATH, "//button[text()='All']").click()
        until(lambda: self.length() > 3000 * 86_400_000, "the whole decade")
        until(lambda: "by the month" in browser.text("#shown"), "months")
        browser.find_element(By.XPATH, "//button[text()='1 day']").click()
        until(lambda: "single records" in browser.text("#shown"), "single records")

    @staticmethod
    def origin(element):
        from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

        return ScrollOrigin.from_element(element)

    def test_dragging_moves_the_range_and_keeps_its_length(self):
        self.open("explore?type=HeartRate&from=2025-12-01T00:00:00Z&to=2026-03-01T00:00:00Z")
        until(lambda: browser.text("#shown data"), "the chart")
        before = self.range()
        chart = browser.find_element(By.CSS_SELECTOR, ".chart")
        ActionChains(browser).move_to_element(chart).click_and_hold().move_by_offset(
            200, 0
        ).release().perform()
        until(lambda: self.range()[0] < before[0], "an earlier range")
        self.assertAlmostEqual(self.length(), before[1] - before[0], delta=2)

    def test_fingers_move_and_zoom(self):
        browser.resize(NARROW)
        browser.execute_cdp_cmd(
            "Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2}
        )
        try:
            self.open("explore?type=HeartRate&from=2025-12-01T00:00:00Z&to=2026-03-01T00:00:00Z")
            until(lambda: browser.text("#shown data"), "the chart")
            first, last = self.range()
            y = browser.execute_script(
                "const chart = document.querySelector('.chart');"
                "chart.scrollIntoView({block: 'center'});"
                "return chart.getBoundingClientRect().top + 100"
            )
            self.touch([[150, 180, 210, 240]], y)
            until(lambda: self.range()[0] < first, "an earlier range")
            self.assertAlmostEqual(self.length(), last - first, delta=2)
            self.touch([[180, 160, 140, 120], [220, 240, 260, 280]], y)
            until(lambda: self.length() < (last - first) * 0.8, "a shorter range")
        finally:
            browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})

    @staticmethod
    def touch(fingers, y):
        """Each finger goes from its first place to its last one."""
        for step in range(len(fingers[0])):
            points = [{"x": xs[step], "y": y, "id": one} for one, xs in enumerate(fingers)]
            kind = "touchMove" if step else "touchStart"
            browser.execute_cdp_cmd(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
            )
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def test_no_saved_text_is_a_formula_and_numbers_stay_numbers(self):
        self.open("explore")
        # The rule is also that of CSVText; PageTextTests has the same table.
        cases = {
            "=1+1": "'=1+1", "-x": "'-x", "@a": "'@a", "-5": "-5", "+4.5": "+4.5",
            "-5e3": "-5e3", "-0.5": "-0.5", "-inf": "'-inf", "+0x1p4": "'+0x1p4", "-": "'-",
            "=1;2": "\"'=1;2\"", "a;=1+1": '"a;=1+1"', "a\t=1": '"a\t=1"',
            "\n=1": "\"'\n=1\"", "\t=1": "\"'\t=1\"", "\r=1": "\"'\r=1\"",
            "＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a",
            " =1": "' =1", "\ufeff=1": "'\ufeff=1", "\u00a0@a": "'\u00a0@a",
            'say "no"': '"say ""no"""', "a,b": '"a,b"', "count/min": "count/min",
        }
        fields = browser.execute_async_script(
            "const [texts, done] = arguments;"
            "import('/assets/csv.js').then(({csvField}) => done(texts.map(csvField)));",
            list(cases),
        )
        self.assertEqual(fields, list(cases.values()))

    def test_an_answer_steers_neither_terminal_nor_direction(self):
        self.open("today")
        shown = browser.execute_async_script(
            "const [text, done] = arguments; const fetched = window.fetch;"
            "window.fetch = async () => new Response(JSON.stringify({lines: [text]}));"
            "import('/assets/api.js').then(({get}) => get('machine')).then(done)"
            ".finally(() => { window.fetch = fetched; });",
            "a\u202eb\x1b[2J\u0085\u2028c\td\ne\u200df",
        )
        self.assertEqual(shown, {"lines": ["a\ufffdb\ufffd[2J\ufffd\ufffdc\td\ne\u200df"]})

    def test_the_view_is_saved_as_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            browser.execute_cdp_cmd(
                "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder}
            )
            self.open("explore?type=HeartRate&from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z")
            until(lambda: browser.text("#shown data"), "the chart")
            browser.find_element(By.XPATH, "//button[text()='Save as CSV']").click()
            path = until(lambda: next(Path(folder).glob("*.csv"), None), "the file")
            until(lambda: path.stat().st_size > 0, "its content")
            rows = list(csv.DictReader(path.read_text().splitlines()))
        days = served.json(
            "records", "HeartRate", "--by", "day", "--since", "2026-01-01", "--until", "2026-05-31"
        )["rows"]
        self.assertEqual(
            [
                (row["start"], float(row["least"]), float(row["mean"]), int(row["records"]))
                for row in rows
            ],
            [(day["day"], day["min"], day["mean"], day["count"]) for day in days],
        )

    def test_two_types_are_compared(self):
        self.open("explore?type=HeartRate&with=StepCount")
        until(lambda: len(browser.values("#shown data.mean")) == 2, "two means")

    def test_an_action_changes_the_job_and_shows_without_reloading(self):
        self.open("jobs")
        browser.execute_script("window.stays = true")
        card = '[data-job="backup"]'
        browser.find_element(By.CSS_SELECTOR, f"{card} [data-key='pause backup']").click()
        until(lambda: browser.text("dialog"), "the question")
        browser.find_element(By.CSS_SELECTOR, "dialog input[name=reason]").send_keys("disk is away")
        browser.find_element(By.CSS_SELECTOR, "dialog button.main").click()
        until(lambda: "disk is away" in browser.text(card), "the pause")
        paused = served.json("explain", "backup")["paused"]
        self.assertEqual(paused["reason"], "disk is away")
        self.click(f"{card} [data-key='resume backup']")
        until(lambda: "Paused" not in browser.text(card), "the end of the pause")
        self.assertIsNone(served.json("explain", "backup")["paused"])
        self.assertTrue(browser.execute_script("return window.stays"))

    def click(self, selector):
        """Clicks an element, which the page may draw anew at this moment."""

        def is_clicked():
            try:
                browser.find_element(By.CSS_SELECTOR, selector).click()
                return True
            except StaleElementReferenceException:
                return False

        until(is_clicked, selector)

    def press(self, key, agree=True):
        """Presses the button of a key, and answers its question."""
        self.click(f"[data-key='{key}']")
        until(lambda: browser.text("dialog"), "the question")
        answer = ".main" if agree else ":not(.main)"
        browser.find_element(By.CSS_SELECTOR, f"dialog button{answer}").click()
        until(lambda: browser.text("dialog") is None, "the end of the question")

    def test_one_rejected_sample_is_discarded_and_another_queued(self):
        need = '[data-need="heart_rate rejected"]'
        self.open("data")
        if not browser.text(need):
            self.skipTest("the backend has rejected no heart rate")
        before = served.json("outbox")["outbox"]
        words = ("--in-state", "rejected", "--type", "heart_rate")
        first, second = (one["id"] for one in served.json("outbox", "list", *words)[:2])
        browser.find_element(By.CSS_SELECTOR, f"{need} summary").click()
        until(lambda: f"{first:,}" in browser.text(need), "the samples")
        self.press(f"sample-discard {first}", agree=False)
        self.assertEqual(served.json("outbox")["outbox"], before)
        self.press(f"sample-discard {first}")
        until(lambda: f"Sample {first} discarded" in (browser.text(".toast") or ""), "the word")
        self.press(f"sample-retry {second}")
        until(lambda: f"Sample {second} queued" in (browser.text(".toast") or ""), "the word")
        after = served.json("outbox")["outbox"]
        self.assertEqual(after["rejected"], before["rejected"] - 2)
        self.assertEqual(after["waiting"], before["waiting"] + 1)
        self.assertEqual(after["discarded"], before["discarded"] + 1)
        self.assertEqual(served.json("outbox", "show", str(second))["state"], "queued")

    def test_rejected_samples_are_queued_again(self):
        need = '[data-need="heart_rate rejected"]'
        self.open("data")
        if not browser.text(need):
            self.skipTest("the backend has rejected no heart rate")
        before = served.json("outbox")["outbox"]
        self.press("outbox-retry rejected heart_rate")
        until(lambda: browser.text(need) is None, "the end of the need")
        outbox = served.json("outbox")["outbox"]
        self.assertEqual(outbox["rejected"], 0)
        self.assertEqual(outbox["waiting"], before["waiting"] + before["rejected"])

    def test_a_change_elsewhere_shows_and_keeps_the_place(self):
        self.open("jobs")
        browser.execute_script("window.stays = true")
        details = browser.find_element(By.XPATH, "//summary[text()='Next starts as a table']")
        details.click()
        browser.execute_script(
            "document.querySelector('[data-key=\"pause backup\"]').focus(); scrollTo(0, 300)"
        )
        before = browser.execute_script("return scrollY")
        served.run("pause", "com.clarity.cleanup", "--reason", "from elsewhere")
        until(
            lambda: "from elsewhere" in browser.text('[data-job="com.clarity.cleanup"]'),
            "the pause",
        )
        self.assertTrue(
            browser.execute_script(
                "return window.stays && document.activeElement.dataset.key === 'pause backup'"
                " && document.querySelector('[data-key=\"behind Next starts as a table\"]').open"
            )
        )
        self.assertAlmostEqual(browser.execute_script("return scrollY"), before, delta=1)
        served.run("resume", "com.clarity.cleanup")

    def test_keys_alone_reach_every_control(self):
        for page in ("today", "explore", "jobs", "data"):
            self.open(page)
            browser.execute_script(
                "window.reached = new Set();"
                "document.addEventListener('focusin', (event) => reached.add(event.target))"
            )
            wanted = browser.execute_script(f"return {CONTROLS}.length")
            body = ActionChains(browser)
            for _ in range(wanted + 12):
                body.send_keys(Keys.TAB)
            body.perform()
            missed = browser.execute_script(
                f"return {CONTROLS}.filter((one) => !reached.has(one))"
                ".map((one) => one.outerHTML.slice(0, 120))"
            )
            self.assertEqual(missed, [], page)


class Everybody(PagesCase):
    """For every reader, on every page."""

    def test_nothing_serious_is_found_by_axe(self):
        for page in PAGES:
            browser.theme(False)
            self.open(page)
            browser.execute_script(
                "for (const one of document.querySelectorAll('.behind')) one.open = true"
            )
            browser.execute_script(AXE)
            for dark in (False, True):
                with self.subTest(page=page, dark=dark):
                    browser.theme(dark)
                    self.assertEqual(self.serious(), [])

    @staticmethod
    def serious():
        found = browser.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(arguments[0])"
        )
        return [
            f"{one['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ]

    def test_a_phone_never_scrolls_sideways(self):
        browser.resize(NARROW)
        for page in PAGES:
            with self.subTest(page=page):
                self.open(page)
                self.assertLessEqual(
                    browser.execute_script("return document.documentElement.scrollWidth"), NARROW[0]
                )

    def test_no_value_is_kept_by_the_browser(self):
        self.assertEqual(
            browser.execute_script(
                "return [localStorage.length, sessionStorage.length, document.cookie]"
            ),
            [0, 0, ""],
        )


class Report(PagesCase):
    """The page of a month, as a file on this machine."""

    A4 = (595, 842)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name) / "report.html"
        served.run("report", "--out", str(cls.path))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        super().setUp()
        browser.get(self.path.as_uri())

    def test_it_has_the_numbers_of_the_command_line(self):
        month = datetime.now(timezone.utc).replace(day=1) - timedelta(days=1)
        first, last = month.strftime("%Y-%m-01"), month.strftime("%Y-%m-%d")
        self.assertEqual(browser.text("h1"), month.strftime("Health in %B %Y"))
        for name in ("steps", "resting_heart_rate"):
            words = ("--since", first, "--until", last)
            days = served.json("metrics", name, *words)["measures"][0]["days"]
            key = "total" if name == "steps" else "mean"
            column = {"total": 1, "mean": 2}[key]
            cells = f"#metric-{name} tbody td:nth-last-child({column}) data"
            shown = browser.values(cells)
            self.assertEqual(shown, [day[key] for day in days], name)

    def test_nothing_serious_is_found_by_axe(self):
        browser.execute_script(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )
        browser.execute_script(AXE)
        for dark in (False, True):
            with self.subTest(dark=dark):
                browser.theme(dark)
                self.assertEqual(Everybody.serious(), [])

    def test_a_phone_never_scrolls_sideways(self):
        browser.resize(NARROW)
        for is_open in (False, True):
            browser.execute_script(
                "for (const one of document.querySelectorAll('details')) one.open = arguments[0]",
                is_open,
            )
            self.assertLessEqual(
                browser.execute_script("return document.documentElement.scrollWidth"), NARROW[0]
            )

    def test_it_is_printed_on_a4_without_what_is_closed(self):
        def printed():
            words = {"preferCSSPageSize": True, "printBackground": False}
            data = browser.execute_cdp_cmd("Page.printToPDF", words)["data"]
            boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", base64.b64decode(data))
            for box in boxes:
                for got, wanted in zip(map(float, box), self.A4):
                    self.assertAlmostEqual(got, wanted, delta=1)
            return len(boxes)

        pages = printed()
        self.assertGreaterEqual(pages, 2)
        browser.execute_script(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )
        self.assertGreater(printed(), pages)


class ZLast(PagesCase):
    """After all other tests: what the browser asked for and said, and the end of the server."""

    def test_a_no_request_left_this_machine(self):
        browser.listen()
        self.assertGreater(len(browser.asked), 50)
        elsewhere = [
            url
            for url in browser.asked
            if not url.startswith((served.url, "file:", "data:", "blob:", "chrome:", "about:"))
        ]
        self.assertEqual(elsewhere, [])

    def test_b_the_console_has_no_violation_and_no_fault(self):
        self.assertEqual(browser.listen().said, [])

    def test_c_a_decade_of_heart_rate_is_drawn_fast(self):
        """Measured and printed, never asserted."""
        self.open("explore?type=HeartRate&from=2015-01-01T00:00:00Z&to=2099-01-01T00:00:00Z")
        until(lambda: browser.text("#shown data"), "the chart")
        asked, answered, drawn = browser.execute_script(
            "const asked = performance.getEntriesByType('resource')"
            ".filter((one) => one.name.includes('type=HeartRate')).at(-1);"
            "const [drawn] = performance.getEntriesByName('chart drawn');"
            "return [asked.startTime, asked.responseEnd, drawn.startTime]"
        )
        print(f"\na decade of heart rate: {answered - asked:.0f} ms to get,", end=" ")
        print(f"{drawn - answered:.0f} ms to draw")

    def test_d_an_ended_session_says_how_to_come_in(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        self.open("jobs")
        browser.delete_all_cookies()
        served.run("pause", "backup")
        until(lambda: "serve link" in browser.text("#main"), "the advice")
        self.assertEqual(browser.find_elements(By.CSS_SELECTOR, "[data-job]"), [])
        browser.get(served.link())
        until(browser.settled, "the first page")

    def test_d_read_only_pages_have_no_actions(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        url = served.url
        browser.get(served.serve("--read-only"))
        try:
            until(browser.settled, "the first page")
            self.assertIn("read only", browser.text("footer"))
            for page in ("jobs", "runs/2", "data"):
                self.open(page)
                self.assertEqual(browser.find_elements(By.CSS_SELECTOR, "main button"), [], page)
        finally:
            served.stop_pages()
            served.url = url

    def test_d_a_state_without_data_is_no_fault(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        new = Served(years=0)
        try:
            browser.get(new.serve())
            for page in PAGES:
                if page.startswith("runs"):
                    continue
                browser.get(f"{new.url}/{page}")
                until(browser.settled, page)
                self.assertEqual(browser.texts("#main [role=alert]"), [], page)
                self.assertNotIn("NaN", browser.text("#main"), page)
        finally:
            new.close()

    def test_e_a_lost_server_is_said_and_the_page_stays(self):
        if served.folder is None:
            self.skipTest("the server is not ours")
        self.open("today")
        served.stop_pages()
        until(lambda: "lost" in (browser.text("#connection") or ""), "the notice")
        self.assertTrue(browser.texts(".card .value"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
