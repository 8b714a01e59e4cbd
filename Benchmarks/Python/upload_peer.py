"""upload_peer.py URL COUNT BATCH: uploads COUNT invented heart rates with httpx, BATCH at a time.

json makes each body from values in memory and reads each answer. Writes the microseconds of
processor time and of wall time."""

import datetime
import json
import resource
import sys
import time
import uuid

import httpx

url, count, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
samples = [(start + datetime.timedelta(minutes=n), 50 + n % 1000 / 10) for n in range(count)]


def processor():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def text(instant):
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def metric(sample):
    at, value = sample
    when = text(at)
    return {
        "metric_id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{when} {value}")),
        "metric_type": "heart_rate",
        "biometric_data": {"heart_rate": value},
        "device_id": "Invented Watch",
        "metadata": {"start_date": when, "end_date": when},
        "created_at": when,
    }


cpu, wall = processor(), time.monotonic()
with httpx.Client(headers={"Authorization": "Bearer invented"}) as client:
    for first in range(0, count, batch):
        metrics = [metric(sample) for sample in samples[first : first + batch]]
        body = {
            "user_id": "00000000-0000-4000-8000-000000000001",
            "metrics": metrics,
            "upload_source": "apple_health",
            "client_timestamp": text(start),
            "sync_token": "1",
        }
        answer = client.post(
            url, content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        if answer.status_code != 201 or answer.json()["accepted_metrics"] != len(metrics):
            sys.exit(1)
print(int((processor() - cpu) * 1e6), int((time.monotonic() - wall) * 1e6))
