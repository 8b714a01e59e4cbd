"""What export-data writes for a FHIR server, in each grain, of ten years that are made up.

The records come from a generator with a fixed seed, and what is expected of the resources is
computed from them here, by the rules of FHIR R4 and not by the program's own code. FHIR_RECORDS is
the number of heart rates.
"""

import collections
import datetime
import json
import os
import random
import subprocess
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from fhir.resources.R4B.device import Device
from fhir.resources.R4B.observation import Observation

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PAGES_PROGRAMS") or ROOT / ".build/debug")
RECORDS = int(os.environ.get("FHIR_RECORDS") or 5000)
ZONE = ZoneInfo("Europe/Berlin")
UTC = datetime.timezone.utc
BASE = "http://hl7.org/fhir/StructureDefinition/"

# hl7.org/fhir/R4/observation-vitalsigns.html: the code and the units that each profile requires.
PROFILES = {
    "heartrate": ("8867-4", {"/min"}),
    "resprate": ("9279-1", {"/min"}),
    "oxygensat": ("2708-6", {"%"}),
    "bodytemp": ("8310-5", {"Cel", "[degF]"}),
    "bodyheight": ("8302-2", {"cm", "[in_i]"}),
    "bodyweight": ("29463-7", {"g", "kg", "[lb_av]"}),
    "bmi": ("39156-5", {"kg/m2"}),
    "bp": ("85354-9", None),
    "vitalsigns": (None, None),
}


def text(instant):
    return instant.strftime("%Y-%m-%d %H:%M:%S +0000")


class Export:
    """Writes an export of made-up records and remembers what it wrote."""

    def __init__(self, path):
        self.random = random.Random(7)
        self.heart = []
        self.file = open(path, "w", encoding="utf-8")
        self.file.write("<HealthData>\n")
        self.watch = (
            'sourceName="Watch" sourceVersion="12.1" device="&lt;&lt;HKDevice: 0x2&gt;, '
            'name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch7,1&gt;"'
        )
        start = datetime.datetime(2016, 1, 1, tzinfo=UTC)
        self.hearts(start)
        for day in range(0, 3652, 9):
            self.day(start + datetime.timedelta(days=day), day)
        self.file.write("</HealthData>\n")
        self.file.close()

    def record(self, kind, unit, start, end, value, source='sourceName="Watch"'):
        self.file.write(
            f'<Record type="HK{kind}" {source} unit="{unit}" creationDate="{text(end)}" '
            f'startDate="{text(start)}" endDate="{text(end)}" value="{value}"/>\n'
        )

    def hearts(self, start):
        left = RECORDS
        # Hours with some hundred readings each, spread over the years.
        hours = sorted(self.random.sample(range(87_000), max(1, RECORDS // 150)))
        for number, hour in enumerate(hours):
            count = left // (len(hours) - number)
            left -= count
            begin = start + datetime.timedelta(hours=hour)
            places = sorted(self.random.sample(range(720), min(count, 720)))
            for place in places:
                at = begin + datetime.timedelta(seconds=5 * place)
                value = self.random.randint(500, 1800) / 10
                self.heart.append((at, Decimal(str(value)).normalize()))
                self.record(
                    "QuantityTypeIdentifierHeartRate", "count/min", at, at, value, self.watch
                )

    def day(self, at, day):
        quantity = "QuantityTypeIdentifier"
        hour = at + datetime.timedelta(hours=9)
        later = hour + datetime.timedelta(minutes=9)
        self.record(quantity + "StepCount", "count", hour, later, 100 + day % 50, self.watch)
        self.record(quantity + "StepCount", "count", hour, later, 90, 'sourceName="Phone"')
        for kind, unit, value in [
            ("OxygenSaturation", "%", "0.97"),
            ("RespiratoryRate", "count/min", "14.5"),
            ("RestingHeartRate", "count/min", "55"),
            ("HeartRateVariabilitySDNN", "ms", "41.2"),
            ("BodyMass", ["kg", "lb", "st"][day // 9 % 3], "71.5"),
            ("Height", ["m", "cm", "in"][day // 9 % 3], "180"),
            ("BodyMassIndex", "count", "22.4"),
            ("BodyTemperature", ["degC", "degF"][day // 9 % 2], "37"),
            ("BloodGlucose", ["mg/dL", "mmol&lt;180.1558800000541&gt;/L"][day // 9 % 2], "5"),
            ("VO2Max", "mL/min·kg", "44.1"),
            ("FlightsClimbed", "count", "3"),
            ("ActiveEnergyBurned", "kcal", "210.5"),
            ("AppleExerciseTime", "min", "31"),
            ("DistanceWalkingRunning", "km", "4.321"),
            ("BasalEnergyBurned", "kcal", "70"),
            ("EnvironmentalAudioExposure", "dBASPL", "61"),
        ]:
            self.record(quantity + kind, unit, hour, hour, value)
        evening = at + datetime.timedelta(hours=21)
        for stage in ["Core", "Deep", "REM", "Unspecified"]:
            end = evening + datetime.timedelta(minutes=50)
            self.record(
                "CategoryTypeIdentifierSleepAnalysis", "", evening, end,
                f"HKCategoryValueSleepAnalysisAsleep{stage}",
            )
            evening = end
        self.record(
            "CategoryTypeIdentifierHeadache", "", hour, later, "HKCategoryValueSeverityMild"
        )
        parts = "".join(
            f'<Record type="HKQuantityTypeIdentifierBloodPressure{name}" sourceName="Cuff" '
            f'unit="mmHg" startDate="{text(hour)}" endDate="{text(hour)}" value="{value}"/>'
            for name, value in [("Systolic", 121), ("Diastolic", 81)]
        )
        self.file.write(
            parts + '<Correlation type="HKCorrelationTypeIdentifierBloodPressure" '
            f'sourceName="Cuff" startDate="{text(hour)}" endDate="{text(hour)}">{parts}'
            "</Correlation>\n"
            '<Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="46.3" '
            f'durationUnit="min" {self.watch} startDate="{text(hour)}" endDate="{text(later)}">'
            '<WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="397" '
            'unit="Cal"/></Workout>\n'
        )


class ContentCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = Path(place.name)
        cls.export = Export(cls.folder / "export.xml")
        (cls.folder / "jobs.yaml").write_text(
            "version: 1\nsources:\n  - { kind: apple-health-export, "
            f"path: {cls.folder}/export.xml, time_zone: Europe/Berlin }}\n"
            "jobs:\n  - { id: import, kind: import, schedule: 1h }\n"
        )
        cls.run_program("run", "import")
        cls.found = {}
        for grain in ["single", "hourly", "days"]:
            cls.write(grain, cls.folder / grain)
            cls.found[grain] = list(cls.lines(cls.folder / grain))

    @classmethod
    def run_program(cls, *arguments):
        environment = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "HOME": str(cls.folder)}
        environment["CLARITY_JOBS_STATE"] = str(cls.folder / "state")
        done = subprocess.run(
            [PROGRAMS / "clarity-jobs", *arguments, "--config", cls.folder / "jobs.yaml"],
            env=environment, capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    @classmethod
    def write(cls, grain, folder):
        cls.run_program(
            "export-data", "--out", folder, "--format", "fhir", "--grain", grain,
            "--patient", "Patient/42",
        )

    @staticmethod
    def lines(folder):
        for path in sorted(folder.glob("*.ndjson")):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    model = Device if path.name == "Device.ndjson" else Observation
                    model.model_validate_json(line)
                    yield json.loads(line, parse_float=Decimal)

    def observations(self, grain, code=None):
        for one in self.found[grain]:
            codes = {c.get("code") for c in one.get("code", {}).get("coding", [])}
            if one["resourceType"] == "Observation" and (code is None or code in codes):
                yield one

    def test_ids_are_unique_and_devices_are_there(self):
        sizes = {}
        for grain, found in self.found.items():
            with self.subTest(grain):
                ids = [(one["resourceType"], one["id"]) for one in found]
                self.assertEqual(len(ids), len(set(ids)))
                for _, name in ids:
                    self.assertRegex(name, r"^[0-9a-f-]{36}$")
                devices = {f"Device/{name}" for kind, name in ids if kind == "Device"}
                used = {one["device"]["reference"] for one in found if "device" in one}
                self.assertLessEqual(used, devices)
                sizes[grain] = len(ids)
        self.assertGreater(sizes["single"], sizes["hourly"])
        self.assertGreater(sizes["hourly"], sizes["days"])
        print(f"\nresources: {sizes}, ", end="")

    def test_the_same_archive_is_written_the_same(self):
        self.write("hourly", self.folder / "again")
        for path in (self.folder / "hourly").iterdir():
            self.assertEqual(path.read_bytes(), (self.folder / "again" / path.name).read_bytes())

    def test_each_profile_is_met(self):
        met = collections.Counter()
        for grain in self.found:
            for one in self.observations(grain):
                for profile in one.get("meta", {}).get("profile", []):
                    self.check_profile(one, profile.removeprefix(BASE))
                    met[profile.removeprefix(BASE)] += 1
        self.assertEqual(set(met), set(PROFILES))

    def check_profile(self, one, profile):
        code, units = PROFILES[profile]
        categories = [c["coding"][0] for c in one["category"]]
        self.assertIn("vital-signs", [c["code"] for c in categories])
        self.assertTrue(one["subject"]["reference"].startswith("Patient/"))
        self.assertTrue("effectiveDateTime" in one or "effectivePeriod" in one)
        codings = [c["code"] for c in one["code"]["coding"] if c["system"] == "http://loinc.org"]
        if code:
            self.assertIn(code, codings)
        self.assertTrue(codings)
        if profile == "bp":
            parts = {c["code"]["coding"][0]["code"]: c for c in one["component"][:2]}
            self.assertEqual(set(parts), {"8480-6", "8462-4"})
            quantities = [part["valueQuantity"] for part in parts.values()]
            units = {"mm[Hg]"}
        else:
            quantities = [one["valueQuantity"]]
        for quantity in quantities:
            self.assertEqual(quantity["system"], "http://unitsofmeasure.org")
            self.assertTrue(quantity["unit"])
            self.assertTrue(units is None or quantity["code"] in units, quantity)
        for part in one.get("component", []):
            self.assertTrue(
                any(key.startswith("value") for key in part) != ("dataAbsentReason" in part)
            )

    def test_the_series_of_an_hour_say_what_the_records_say(self):
        readings = []
        for one in self.observations("hourly", "HKQuantityTypeIdentifierHeartRate"):
            data = one.get("valueSampledData")
            if not data:
                at = datetime.datetime.fromisoformat(one["effectiveDateTime"])
                readings.append((at, Decimal(one["valueQuantity"]["value"]).normalize()))
                continue
            self.assertEqual((data["dimensions"], data["origin"]["value"]), (1, 0))
            at = datetime.datetime.fromisoformat(one["effectivePeriod"]["start"])
            values = data["data"].split(" ")
            self.assertNotIn("E", (values[0], values[-1]))
            step = datetime.timedelta(milliseconds=int(data["period"]))
            end = datetime.datetime.fromisoformat(one["effectivePeriod"]["end"])
            self.assertEqual(at + step * (len(values) - 1), end)
            for place, value in enumerate(values):
                if value != "E":
                    readings.append((at + step * place, Decimal(value).normalize()))
        self.assertEqual(sorted(readings), sorted(self.export.heart))

    def test_a_day_has_the_greatest_and_the_mean_of_its_records(self):
        days = collections.defaultdict(list)
        for at, value in self.export.heart:
            days[at.astimezone(ZONE).date().isoformat()].append(value)
        greatest = {
            one["effectiveDateTime"]: Decimal(one["valueQuantity"]["value"])
            for one in self.observations("days", "8873-2")
        }
        self.assertEqual(greatest, {day: max(values) for day, values in days.items()})
        for one in self.observations("days", "41924-2"):
            values = days.pop(one["effectivePeriod"]["start"][:10])
            mean = sum(values) / len(values)
            self.assertLess(abs(Decimal(one["valueQuantity"]["value"]) - mean), Decimal("0.001"))
        self.assertFalse(days)

    def test_steps_count_a_watch_and_a_phone_once(self):
        steps = [one["valueQuantity"]["value"] for one in self.observations("days", "41950-7")]
        self.assertEqual(len(steps), 406)
        self.assertLess(max(steps), 160)
        self.assertGreaterEqual(min(steps), 90)

    def test_a_night_ends_on_its_day_and_has_its_stages(self):
        nights = list(self.observations("days", "93832-4"))
        self.assertEqual(len(nights), 406)
        for one in nights:
            self.assertEqual(one["valueQuantity"]["value"], 200)
            self.assertTrue(one["effectivePeriod"]["end"].endswith(("+01:00", "+02:00")))
            self.assertGreaterEqual(len(one["component"]), 3)


if __name__ == "__main__":
    unittest.main()
