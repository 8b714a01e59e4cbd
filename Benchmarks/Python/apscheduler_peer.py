"""Runs jobs at the same instants with APScheduler and its SQLAlchemy store in a SQLite file.

usage: apscheduler_peer.py DATABASE LEAD_MS OFFSET_MS...

Writes a line `due_ms done_ms` for each job: the instant at which it was due, and the instant at
which its work was done and the store had committed its removal (it removes jobs that are not due
again).
"""

import datetime
import sys
import threading
import time

from apscheduler.events import EVENT_JOB_EXECUTED, EVENT_JOB_REMOVED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler


def work():
    """Does nothing, like the worker with which it is compared."""


def main():
    database, lead, offsets = sys.argv[1], float(sys.argv[2]), [float(text) for text in sys.argv[3:]]
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=f"sqlite:///{database}")},
        executors={"default": ThreadPoolExecutor(20)},
        job_defaults={"misfire_grace_time": None, "coalesce": False},
        timezone=datetime.timezone.utc,
    )
    told = {}
    lock = threading.Lock()
    finished = threading.Event()

    def hear(event):
        instant = time.time()
        if event.job_id == "trial":
            return
        with lock:
            told.setdefault(event.job_id, []).append(instant)
            if len(told) == len(offsets) and all(len(both) == 2 for both in told.values()):
                finished.set()

    scheduler.add_listener(hear, EVENT_JOB_EXECUTED | EVENT_JOB_REMOVED)
    scheduler.start(paused=True)
    # Adding a job takes its store a transaction. The first is due when all are surely stored.
    start = time.time()
    for number in range(20):
        scheduler.add_job(work, "date", id="trial", replace_existing=True,
                          run_date=datetime.datetime.fromtimestamp(start + 3600, datetime.timezone.utc))
    each = (time.time() - start) / 20
    scheduler.remove_job("trial")
    first = time.time() + lead / 1000 + len(offsets) * each * 3
    due = {}
    for number, offset in enumerate(offsets):
        instant = first + offset / 1000
        due[str(number)] = instant
        scheduler.add_job(
            work, "date", id=str(number),
            run_date=datetime.datetime.fromtimestamp(instant, datetime.timezone.utc))
    if time.time() > first:
        sys.exit("the jobs were not added before the first was due")
    scheduler.resume()
    if not finished.wait(600):
        sys.exit("not every job came to its end")
    scheduler.shutdown()
    for name, instants in told.items():
        print(f"{due[name] * 1000:.3f} {max(instants) * 1000:.3f}")


main()
