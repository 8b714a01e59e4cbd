"""Makes the pictures of the pages in docs/pictures, from invented data."""

import base64
import io
import random
import sqlite3
import sys
import time
from pathlib import Path

from PIL import Image

from browser import NARROW, WIDE, Browser
from served import ROOT, Served, until

HOUR = 3_600_000
# Page, name of the picture, height, dark, and what is done before it is taken.
PICTURES = (
    ("today", "today", 880, False, None),
    ("today", "today-dark", 880, True, None),
    (
        "explore?type=HeartRate&from=2000-01-01T00:00:00Z&to=2099-01-01T00:00:00Z",
        "explore",
        800,
        False,
        None,
    ),
    ("explore?type=StepCount&with=RestingHeartRate", "compare", 800, False, "30 days"),
    ("sleep", "sleep", 800, False, None),
    ("jobs", "jobs", 900, False, None),
    ("data", "data", 900, False, None),
    ("insights", "insights", 700, False, None),
    ("workouts", "workouts", 800, False, None),
)


def spread(history):
    """Gives the history two invented days: copies of the runs that there are, at the times at which
    the jobs were due, some late, one failed and two missed."""
    database = sqlite3.connect(history, isolation_level=None, timeout=30)
    chance = random.Random(1)
    now = int(time.time() * 1000)
    columns = [row[1] for row in database.execute("PRAGMA table_info(runs)")]
    fixed = {
        "id",
        "trigger",
        "state",
        "scheduled_for_ms",
        "enqueued_at_ms",
        "started_at_ms",
        "finished_at_ms",
        "failure_category",
        "failure_reason",
        "failures",
        "attempts",
        "caused_by",
        "latest_occurrence_ms",
    }
    kept = ", ".join(f'"{name}"' for name in columns if name not in fixed)

    def copy(job, at, state="succeeded", wait=0, took=900):
        template = database.execute(
            "SELECT id FROM runs WHERE job_id = ? AND state = 'succeeded' ORDER BY id LIMIT 1",
            (job,),
        ).fetchone()[0]
        ran = state != "skipped"
        row = database.execute(
            f"INSERT INTO runs ({kept}, trigger, state, scheduled_for_ms, enqueued_at_ms,"
            " started_at_ms, finished_at_ms, failures, attempts, failure_category, failure_reason)"
            f" SELECT {kept}, 'schedule', ?, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?"
            " RETURNING id",
            (
                state,
                at,
                at,
                at + wait if ran else None,
                at + wait + took,
                int(state == "failed"),
                int(ran),
                "unreachable" if state == "failed" else None,
                "the backend answered 503 five times" if state == "failed" else None,
                template,
            ),
        ).fetchone()[0]
        if ran:
            database.execute(
                "INSERT INTO attempts (run_id, number, started_at_ms, finished_at_ms, result,"
                " reason, tally, peak_memory_bytes)"
                " SELECT ?, 1, ?, ?, ?, ?, tally, peak_memory_bytes FROM attempts"
                " WHERE run_id = ? AND number = 1",
                (
                    row,
                    at + wait,
                    at + wait + took,
                    "failed" if state == "failed" else "succeeded",
                    "the backend answered 503" if state == "failed" else None,
                    template,
                ),
            )
        if wait > 60_000:
            database.execute(
                "INSERT INTO deferrals (run_id, subject, since_ms, until_ms, reason, wanted,"
                " measured, source, place)"
                " VALUES (?, 'idle', ?, ?, 'constraint', 'idle', 'in use', 'logind', 0)",
                (row, at, at + wait),
            )

    day = now - now % (24 * HOUR)
    database.execute("BEGIN IMMEDIATE")
    for back in range(47, 0, -1):
        at = now - back * HOUR + 7 * 60_000
        asleep = (at // HOUR) % 24 < 7
        copy(
            "com.clarity.healthkit.upload",
            at,
            "failed" if back == 20 else "succeeded",
            0 if asleep else chance.choice((0, 0, 25, 48)) * 60_000,
            4 * 60_000,
        )
        copy("com.clarity.processing-status", at + 5 * 60_000)
        if back % 4 == 0:
            copy("com.clarity.refresh", at, took=20_000)
    for at in (day - 18 * HOUR, day - 6 * HOUR, day + 6 * HOUR):
        if now - 48 * HOUR < at < now:
            copy("com.clarity.insights", at, took=30_000)
    for at in (day - 22 * HOUR, day + 2 * HOUR):
        if now - 48 * HOUR < at < now:
            copy("backup", at, "skipped" if at < day else "succeeded", took=6 * 60_000)
    database.execute("COMMIT")
    database.close()


def take(browser, path, height, width=WIDE[0]):
    data = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {
            "captureBeyondViewport": False,
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        },
    )
    picture = Image.open(io.BytesIO(base64.b64decode(data["data"]))).convert("RGB")
    # Pages have few colours; a palette makes the file a third as large.
    picture.quantize(200, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/pictures"
    folder.mkdir(parents=True, exist_ok=True)
    served = Served()
    browser = None
    try:
        if served.folder:
            spread(served.folder / "state/history.db")
        browser = Browser()
        browser.get(served.serve())
        until(browser.settled, "the first page")
        for page, name, height, dark, press in PICTURES:
            browser.resize((WIDE[0], height))
            browser.theme(dark)
            browser.get(f"{served.url}/{page}")
            until(browser.settled, page)
            if press:
                browser.find_element("xpath", f"//button[text()='{press}']").click()
            time.sleep(1)  # A chart is drawn after its page.
            take(browser, folder / f"{name}.png", height)
        browser.theme(False)
        browser.resize(NARROW)
        browser.get(f"{served.url}/today")
        until(browser.settled, "today")
        take(browser, folder / "phone.png", NARROW[1], NARROW[0])
    finally:
        if browser:
            browser.quit()
        served.close()


if __name__ == "__main__":
    main()
