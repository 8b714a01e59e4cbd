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
PAGES = (
    *("today", "sleep", "sleep?days=all", "workouts", "workouts?days=all", "trends", "year", "diary"),
    *("activity", "activity?days=all", "ecgs", "records", "records?type=HeartRate"),
    "records?type=ActivitySummary",
)
# At one hour, so that a test does not depend on when it runs.
END = datetime.now(timezone.utc).replace(
    hour=8, minute=0, second=0, microsecond=0
) - timedelta(days=365)


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

    def test_activity_shows_the_goals_of_each_day_and_all_years(self):
        self.open("activity")
        rows = served.json("activity", "--since", "28d")["rows"]
        self.assertEqual(len(browser.find_elements(By.CSS_SELECTOR, ".ring-days svg")), len(rows))
        self.assertEqual(browser.values("#closed"), [sum(row["all_closed"] for row in rows)])
        newest = browser.find_elements(By.CSS_SELECTOR, ".ring-days svg")[-1]
        share = round(100 * rows[0]["move"] / rows[0]["move_goal"])
        self.assertIn(f"Move {share} %", newest.get_attribute("aria-label"))
        self.open("activity?days=all")
        months = served.json("activity", "--by", "month")["rows"]
        self.assertGreater(len(months), 118)
        self.assertEqual(browser.values("#all-closed"), [sum(row["all_closed"] for row in months)])
        self.open("today")
        self.assertEqual(browser.values(".goals data")[0], rows[0]["move"])

    def test_the_diary_shows_each_entry_under_its_day(self):
        self.open("diary")
        rows = served.json("diary", "--since", "90d")["rows"]
        self.assertEqual(browser.values("#entries"), [len(rows)])
        shown = browser.texts(".entries strong")
        self.assertEqual(shown, [row["title"] for row in rows[:200]])
        browser.find_element(By.CSS_SELECTOR, "[data-key='kind mood']").click()
        moods = [row for row in rows if row["kind"] == "mood"]
        until(lambda: browser.values("#entries") == [len(moods)], "the moods")
        self.assertIn("pleasant", browser.text(".entries li"))

    def test_an_electrocardiogram_is_drawn_from_each_of_its_samples(self):
        self.open("ecgs")
        rows = served.json("ecgs")["rows"]
        self.assertEqual(browser.values("#ecgs"), [len(rows)])
        browser.find_elements(By.CSS_SELECTOR, "a[href^='/ecgs?at=']")[0].click()
        until(lambda: browser.find_elements(By.CSS_SELECTOR, ".paper"), "the curve")
        self.assertEqual(browser.text("h1"), rows[0]["classification"])
        paths = browser.execute_script(
            "return [...document.querySelectorAll('.paper .trace')].map((one) => one.getAttribute('d'))"
        )
        self.assertEqual(sum(path.count("L") + path.count("M") for path in paths), rows[0]["samples"])
        # The highest point of the paper is the greatest sample of its strip: 10 mm a millivolt.
        curve = served.json("ecgs", rows[0]["start"])["rows"][0]["curve"]
        strip = curve[: len(curve) // len(paths)]
        heights = [float(point.split(" ")[1]) for point in re.split("[ML]", paths[0])[1:]]
        self.assertAlmostEqual(
            max(heights) - min(heights), (max(strip) - min(strip)) / 100, places=1
        )

    def test_records_shows_each_type_and_each_record_with_its_metadata(self):
        self.open("records")
        types = served.json("records")
        self.assertEqual(browser.values("#all-records"), [sum(one["records"] for one in types)])
        self.assertEqual(len(browser.texts("tbody tr")), len(types))
        for name in ("StepCount", "Headache", "ActivitySummary"):
            self.open(f"records?type={name}")
            one = next(one for one in types if one["type"].endswith(name))
            self.assertEqual(browser.values("#records"), [one["records"]])
            shown = browser.values("#shown")[0]
            self.assertGreater(shown, 0, name)
            self.assertEqual(len(browser.texts(".records > li")), min(100, shown), name)
        browser.find_element(By.CSS_SELECTOR, ".records summary").click()
        self.assertIn("activeEnergyBurned", browser.text(".records .facts"))

    def test_a_year_is_shown_beside_the_one_before(self):
        year = END.year
        self.open(f"year?year={year}")
        answer = served.json("year", str(year))
        for one in answer["measures"]:
            card = f'[data-measure="{one["measure"]}"]'
            self.assertEqual(browser.values(f"{card} .value data"), [one["value"]])
            bars = browser.find_elements(By.CSS_SELECTOR, f"{card} svg rect")
            self.assertEqual(len(bars), len(one["months"]), one["measure"])
        self.assertEqual(browser.values("#rings"), [answer["rings_closed"]])
        self.assertEqual(
            browser.values("#year-workouts"), [sum(one["workouts"] for one in answer["activities"])]
        )
        browser.find_element(By.CSS_SELECTOR, "[data-key='before']").click()
        until(lambda: browser.text("h1") == f"{year - 1} in review", "the year before")

    def test_a_way_has_the_unit_of_the_region(self):
        self.open("workouts")
        row = next(one for one in served.json("workouts", "--since", "90d")["rows"] if one["distance"])
        cells = browser.execute_script(
            "return [...document.querySelectorAll('td[data-head=Distance] data')]"
            ".map((one) => [one.value, one.textContent])"
        )
        shown = next(text for value, text in cells if float(value) == row["distance"])
        self.assertEqual(row["distance_unit"], "km")
        self.assertEqual(shown, f"{round(row['distance'] / 1.609344, 1):g} mi")

    def test_nothing_serious_is_found_by_axe_and_a_phone_never_scrolls_sideways(self):
        workout = served.json("workouts", "--since", "30d")["rows"][0]["start"]
        second = int(datetime.fromisoformat(workout.replace("Z", "+00:00")).timestamp())
        cardiogram = served.json("ecgs")["rows"][0]["start"]
        for page in (*PAGES, f"workouts/{second}", f"ecgs?at={cardiogram}"):
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
        for page in PAGES:
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
