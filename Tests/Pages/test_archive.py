"""The pages of an archive without a server in a real browser: a decade that ended a year ago."""

import os
import re
import unittest
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import axe_core_python
import invented_export
from selenium.webdriver.common.by import By

from browser import NARROW, WIDE, Browser
from served import Served, until

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
JOBS = """\
version: 1
sources:
  - {{ kind: apple-health-export, path: export.zip, time_zone: Europe/London }}
jobs:
  - {{ id: import, kind: import, schedule: 1h }}
"""
SCRIPTS = """\
version: 1
jobs:
  - {{ id: backup, kind: command, schedule: 1h, options: {{ command: [echo, saved] }} }}
"""
# The folder for pictures to look at, if somebody wants some.
PICTURES = os.environ.get("PAGES_PICTURES")
POINTS = 60
END = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(days=365)


class Archive(Served):
    def begin(self, years):
        self.begin_with(JOBS if years else SCRIPTS)
        if years:
            export = invented_export.Export(END, years)
            path = self.folder / "export.zip"
            invented_export.write(export, path)
            self.add_route(path)
            self.run("run", "import")

    @staticmethod
    def add_route(path):
        """Adds the way of the newest workout, a point every ten seconds."""
        with zipfile.ZipFile(path, "a") as archive:
            text = archive.read("apple_health_export/export.xml").decode()
            start = re.findall(r'<Workout [^>]*startDate="([^"]+)"', text)[-1]
            first = datetime.strptime(start, "%Y-%m-%d %H:%M:%S %z")
            points = "".join(
                f'<trkpt lon="{7 + 0.001 * step}" lat="{50 + 0.0005 * (step % 7)}"><time>'
                f"{first + timedelta(seconds=10 * step):%Y-%m-%dT%H:%M:%SZ}</time></trkpt>"
                for step in range(POINTS)
            )
            archive.writestr(
                "apple_health_export/workout-routes/route_1.gpx",
                f'<?xml version="1.0"?><gpx version="1.1"><trk><trkseg>{points}'
                "</trkseg></trk></gpx>",
            )


def setUpModule():
    global served, browser
    served = Archive()
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


class ArchiveCase(unittest.TestCase):
    def setUp(self):
        browser.resize(WIDE)
        browser.theme(False)

    def open(self, page):
        browser.get(f"{served.url}/{page}")
        until(browser.settled, f"the page {page}")

    def test_today_begins_with_the_newest_data(self):
        self.open("today")
        summary = served.json("summary")
        self.assertEqual(summary["day"][:4], str(END.year))
        self.assertIn("Nothing is newer", browser.text("#newest"))
        for item in summary["items"]:
            if item["value"] is not None:
                shown = browser.values(f'[data-measure="{item["name"]}"] .value data')
                self.assertEqual(shown, [item["value"]], item["name"])

    def test_sleep_shows_the_newest_nights_and_all_years(self):
        self.open("sleep")
        nights = served.json("nights", "--since", "14d")["rows"]
        self.assertGreater(len(nights), 10)
        self.assertEqual(len(browser.find_elements(By.CSS_SELECTOR, ".night-row svg")), len(nights))
        over = [night["asleep_minutes"] for night in nights if night["is_over"]]
        mean = sum(over) / len(over)
        self.assertEqual(browser.values(".card .value data")[0], round(mean))
        self.assertIn(str(END.year), browser.text(".lead"))
        self.open("sleep?days=all")
        months = served.json("nights", "--by", "month")["rows"]
        self.assertGreater(len(months), 12)
        self.assertEqual(browser.values("#all-nights"), [sum(row["nights"] for row in months)])
        bars = browser.find_elements(By.CSS_SELECTOR, ".months rect")
        self.assertEqual(len(bars), len(months))
        # A press on a month shows its nights.
        bars[5].click()
        until(lambda: browser.find_elements(By.CSS_SELECTOR, ".night-row svg"), "the month")
        self.assertEqual(
            len(browser.find_elements(By.CSS_SELECTOR, ".night-row svg")), months[5]["nights"]
        )

    def test_workouts_shows_all_years_and_each_one(self):
        self.open("workouts?days=all")
        months = served.json("workouts", "--by", "month")["rows"]
        self.assertGreater(len(months), 118)
        self.assertEqual(browser.values("#all-workouts"), [sum(row["workouts"] for row in months)])
        self.open("workouts")
        rows = served.json("workouts", "--since", "90d")["rows"]
        self.assertEqual(browser.values("#workouts"), [len(rows)])
        links = browser.find_elements(By.CSS_SELECTOR, "a[href^='/workouts/']")
        self.assertEqual(len(links), len(rows))
        links[0].click()
        until(lambda: browser.text("h1") == rows[0]["title"], "the workout")
        shown = browser.values(".facts data")
        self.assertIn(round(rows[0]["minutes"]), shown)
        self.assertIn(rows[0]["energy"], shown)
        # The way of the newest one, drawn from its points alone.
        self.assertEqual(browser.values("#points"), [POINTS])
        path = browser.find_element(By.CSS_SELECTOR, ".route path").get_attribute("d")
        self.assertEqual(path.count("L"), POINTS - 1)

    def test_trends_shows_each_measure_and_says_how_it_compares(self):
        self.open("trends")
        answer = served.json("trends")
        self.assertEqual(answer["month"][:4], str(END.year))
        for one in answer["trends"]:
            card = f'[data-measure="{one["measure"]}"]'
            self.assertEqual(browser.values(f"{card} .value data"), [one["value"]])
            self.assertIn(one["words"][1:], browser.text(card))

    def test_nothing_serious_is_found_by_axe_and_a_phone_never_scrolls_sideways(self):
        workout = served.json("workouts", "--since", "30d")["rows"][0]["start"]
        second = int(datetime.fromisoformat(workout.replace("Z", "+00:00")).timestamp())
        pages = ("today", "sleep", "sleep?days=all", "workouts", "workouts?days=all", "trends")
        for page in (*pages, f"workouts/{second}"):
            for dark in (False, True):
                browser.resize(WIDE)
                browser.theme(dark)
                self.open(page)
                browser.execute_script(
                    "for (const one of document.querySelectorAll('details')) one.open = true"
                )
                browser.execute_script(AXE)
                found = browser.execute_async_script(
                    "const done = arguments[0]; axe.run().then((all) => done(all.violations"
                    ".filter((one) => ['serious', 'critical'].includes(one.impact))"
                    ".map((one) => `${one.id}: ${one.nodes.map((n) => n.target).join(' ')}`)))"
                )
                self.assertEqual(found, [], f"{page}, dark: {dark}")
                if PICTURES:
                    browser.save_screenshot(f"{PICTURES}/{page.replace('/', '-')}-{dark}.png")
            browser.resize(NARROW)
            width = browser.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, NARROW[0], page)
            if PICTURES:
                browser.save_screenshot(f"{PICTURES}/{page.replace('/', '-')}-phone.png")

    def test_a_wrong_address_gets_a_page(self):
        self.open("nowhere")
        self.assertEqual(browser.text("h1"), "There is nothing here")
        self.assertTrue(browser.find_elements(By.CSS_SELECTOR, "#pages a[href='/sleep']"))

    def test_a_no_fault_is_on_the_console(self):
        for page in ("today", "sleep?days=all", "workouts?days=all", "trends"):
            self.open(page)
        browser.listen()
        self.assertEqual([line for line in browser.said if "SEVERE" in line], [])

    def test_z_somebody_without_health_data_sees_jobs_first(self):
        scripts = Archive(0)
        try:
            scripts.run("run", "backup")
            browser.get(scripts.serve())
            until(browser.settled, "the first page")
            browser.get(f"{scripts.url}/")
            until(browser.settled, "the first page")
            self.assertEqual(browser.text("h1"), "Jobs")
            self.assertIn("backup", browser.text("#main"))
        finally:
            scripts.close()


if __name__ == "__main__":
    unittest.main()
