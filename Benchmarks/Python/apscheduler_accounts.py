"""Keeps many hourly jobs with APScheduler and its SQLAlchemy store in a SQLite file for a while.

usage: apscheduler_accounts.py DATABASE JOBS SECONDS

The jobs are spread over the hour and do nothing. Writes a line `processor_ms resident_kib runs`:
the processor time of the measured seconds, the memory after them, and how many jobs ran.
"""

import datetime
import os
import sys
import threading
import time

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import create_engine, event

count = 0
lock = threading.Lock()


def work():
    """Does nothing but count."""
    global count
    with lock:
        count += 1


def main():
    database, jobs, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    engine = create_engine(f"sqlite:///{database}")

    # What it costs to add the jobs does not count, so nobody waits for the disk then.
    is_ready = False

    @event.listens_for(engine, "begin")
    def durable(connection):
        connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if is_ready else 'OFF'}")

    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(engine=engine)},
        executors={"default": ThreadPoolExecutor(20)},
        job_defaults={"misfire_grace_time": None, "coalesce": True},
        timezone=datetime.timezone.utc,
    )
    scheduler.start(paused=True)
    start = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=jobs / 200)
    for number in range(jobs):
        first = start + datetime.timedelta(seconds=3600 * number / jobs)
        scheduler.add_job(work, IntervalTrigger(hours=1, start_date=first), id=str(number))
    is_ready = True
    while datetime.datetime.now(datetime.timezone.utc) < start:
        time.sleep(0.1)
    scheduler.resume()
    time.sleep(5)
    before, runs = os.times(), count
    time.sleep(seconds)
    after = os.times()
    spent = (after.user + after.system - before.user - before.system) * 1000
    with open("/proc/self/status") as status:
        resident = next(line.split()[1] for line in status if line.startswith("VmRSS:"))
    print(f"{spent:.0f} {resident} {count - runs}", flush=True)
    os._exit(0)


main()
