#!/usr/bin/env python3
"""Makes an Apple Health export of an invented person whose records end at a given instant.

    invented_export.py OUT.zip [--years 10] [--until 2026-11-25T18:00:00Z]

The older years have few records a day; the last year has one an hour, and the last five weeks one
every ten minutes, as a watch makes them. The same instant makes the same records.
"""

import argparse
import math
import random
import zipfile
from datetime import datetime, timedelta, timezone

WATCH = "Robin\u2019s Watch"
PHONE = "Robin\u2019s Phone"
QUANTITY = "HKQuantityTypeIdentifier"
SLEEP = "HKCategoryValueSleepAnalysis"
WORKOUTS = ("Running", "Walking", "Cycling", "Swimming", "Yoga")
DENSE_DAYS = 35


def when(moment):
    return moment.strftime("%Y-%m-%d %H:%M:%S +0000")


class Export:
    def __init__(self, until, years):
        self.until = until
        self.years = years
        self.random = random.Random(f"{until:%Y-%m-%d}")
        self.lines = []

    def record(self, kind, start, end, value, unit=None, source=WATCH):
        if end > self.until:
            return
        unit = f' unit="{unit}"' if unit else ""
        self.lines.append(
            f' <Record type="{kind}" sourceName="{source}"{unit} startDate="{when(start)}"'
            f' endDate="{when(end)}" value="{value}"/>'
        )

    def quantity(self, name, start, minutes, value, unit, source=WATCH):
        end = start + timedelta(minutes=minutes)
        self.record(QUANTITY + name, start, end, f"{value:g}", unit, source)

    def fitness(self, day):
        """From -1 to 1: better in summer, better over the years, and one bad winter."""
        years = (self.until - day).days / 365.25
        season = 0.35 * math.sin((day.timetuple().tm_yday - 100) / 365.25 * 2 * math.pi)
        illness = -0.9 * math.exp(-(((years - 3.7) * 7) ** 2))
        return max(-1.0, min(1.0, 0.4 - years / 12 + season + illness))

    def heart(self, day, step_minutes):
        rest = 60 - 6 * self.fitness(day) + self.random.gauss(0, 1.2)
        self.quantity("RestingHeartRate", day + timedelta(hours=7), 1, round(rest), "count/min")
        self.quantity(
            "HeartRateVariabilitySDNN",
            day + timedelta(hours=4),
            1,
            round(46 + 14 * self.fitness(day) + self.random.gauss(0, 6), 1),
            "ms",
        )
        moment = day + timedelta(minutes=self.random.randrange(step_minutes))
        while moment < day + timedelta(days=1):
            hour = moment.hour + moment.minute / 60
            active = max(0.0, math.sin((hour - 6.5) / 16 * math.pi)) if 6.5 < hour < 22.5 else 0.0
            rate = rest - 3 + 18 * active + self.random.gauss(0, 4)
            if self.random.random() < 0.05 * active:
                rate += self.random.uniform(25, 75)
            self.quantity("HeartRate", moment, 0, round(rate), "count/min")
            moment += timedelta(minutes=step_minutes)

    def steps(self, day, walks):
        walked = (8200 + 2600 * self.fitness(day)) * self.random.lognormvariate(0, 0.25)
        if day.weekday() == 6:
            walked *= 0.7
        for walk in range(walks):
            start = day + timedelta(hours=7 + 14 * walk / walks, minutes=self.random.randrange(40))
            share = round(walked / walks * self.random.uniform(0.5, 1.5))
            self.quantity("StepCount", start, 25, share, "count", PHONE)
            self.quantity("ActiveEnergyBurned", start, 25, round(share * 0.045, 1), "Cal")
            self.quantity(
                "DistanceWalkingRunning", start, 25, round(share * 0.00074, 3), "km", PHONE
            )

    def night(self, day):
        """A night that ends on `day`, as stages of some 90 minutes a cycle."""
        late = self.random.gauss(0, 25) + (50 if day.weekday() in (5, 6) else 0)
        start = day - timedelta(hours=1) + timedelta(minutes=late)
        end = day + timedelta(hours=6, minutes=30 + self.random.gauss(0, 20) + late / 2)
        self.quantity(
            "OxygenSaturation",
            start + timedelta(hours=3),
            1,
            round(self.random.uniform(0.945, 0.985), 3),
            "%",
        )
        self.quantity(
            "RespiratoryRate",
            start + timedelta(hours=2),
            1,
            round(self.random.gauss(14.5, 0.7), 1),
            "count/min",
        )
        moment, cycle = start, 0
        while moment < end:
            stages = [
                ("AsleepCore", self.random.uniform(18, 35)),
                ("AsleepDeep", max(4, self.random.gauss(36 - 10 * cycle, 6))),
                ("AsleepCore", self.random.uniform(15, 30)),
                ("AsleepREM", max(5, self.random.gauss(9 + 8 * cycle, 4))),
            ]
            if self.random.random() < 0.4:
                stages.append(("Awake", self.random.uniform(2, 9)))
            for stage, minutes in stages:
                if moment < end:
                    stop = min(end, moment + timedelta(minutes=minutes))
                    self.record(
                        "HKCategoryTypeIdentifierSleepAnalysis", moment, stop, SLEEP + stage
                    )
                    moment = stop
            cycle += 1

    def workout(self, day):
        kind = self.random.choices(WORKOUTS, (5, 3, 3, 1, 2))[0]
        start = day + timedelta(hours=17, minutes=self.random.randrange(90))
        minutes = round(self.random.uniform(25, 75), 1)
        end = start + timedelta(minutes=minutes)
        if end > self.until:
            return
        span = f'startDate="{when(start)}" endDate="{when(end)}"'
        self.lines += [
            f' <Workout workoutActivityType="HKWorkoutActivityType{kind}" duration="{minutes}"'
            f' durationUnit="min" sourceName="{WATCH}" {span}>',
            f'  <WorkoutStatistics type="{QUANTITY}ActiveEnergyBurned" {span}'
            f' sum="{round(minutes * self.random.uniform(6, 10))}" unit="Cal"/>',
            f'  <WorkoutStatistics type="{QUANTITY}HeartRate" {span}'
            f' average="{round(self.random.uniform(112, 152))}" unit="count/min"/>',
        ]
        if kind in ("Running", "Walking", "Cycling"):
            pace = {"Running": 0.17, "Walking": 0.09, "Cycling": 0.4}[kind]
            self.lines.append(
                f'  <WorkoutStatistics type="{QUANTITY}DistanceWalkingRunning" {span}'
                f' sum="{minutes * pace:.2f}" unit="km"/>'
            )
        self.lines.append(" </Workout>")

    def goals(self, day):
        """The rings of a watch; today's are as they are so far."""
        chance = random.Random(f"goals {day:%Y-%m-%d}")
        fit = self.fitness(day)
        self.lines.append(
            f' <ActivitySummary dateComponents="{day:%Y-%m-%d}"'
            f' activeEnergyBurned="{chance.gauss(520 + 90 * fit, 90):.1f}"'
            ' activeEnergyBurnedGoal="500" activeEnergyBurnedUnit="kcal" appleMoveTime="0"'
            f' appleMoveTimeGoal="0" appleExerciseTime="{max(0, chance.gauss(33 + 9 * fit, 12)):.0f}"'
            f' appleExerciseTimeGoal="30" appleStandHours="{chance.choice((10, 11, 12, 12, 13))}"'
            ' appleStandHoursGoal="12"/>'
        )

    def diary(self, day):
        """What a person notes now and then."""
        chance = random.Random(f"diary {day:%Y-%m-%d}")
        at = day + timedelta(hours=18, minutes=chance.randrange(60))
        if at > self.until:
            return
        if chance.random() < 0.06:
            severity = chance.choice(("Mild", "Moderate", "Severe"))
            self.record(
                f"HKCategoryTypeIdentifier{chance.choice(('Headache', 'Fatigue', 'Nausea'))}",
                at - timedelta(hours=3), at, f"HKCategoryValueSeverity{severity}", source="Health"
            )
        status = "skipped" if chance.random() < 0.1 else "taken"
        self.lines.append(
            f' <MedicationDoseEvent name="Vitamin D" logStatus="{status}" dosage="1"'
            f' unit="tablet" scheduledDate="{when(at - timedelta(hours=10))}"/>'
        )
        if chance.random() < 0.3:
            label = chance.choice(("calm", "content", "tense", "tired", "proud"))
            self.lines.append(
                f' <StateOfMind kind="dailyMood" valence="{chance.uniform(-0.6, 0.9):.2f}"'
                f' startDate="{when(at)}" endDate="{when(at)}"><Label name="{label}"/></StateOfMind>'
            )

    def electrocardiograms(self):
        """The files of some electrocardiograms, by name."""
        files = {}
        chance = random.Random("electrocardiograms")
        for number in range(4):
            at = self.until - timedelta(days=3 + 40 * number, hours=2)
            rate, beat = 512, 512 * 60 // (58 + 4 * number)
            values = []
            for place in range(30 * rate):
                phase = (place % beat) / beat
                bump = lambda middle, width, size: size * math.exp(-(((phase - middle) / width) ** 2))
                values.append(
                    bump(0.16, 0.03, 110) + bump(0.27, 0.008, -90) + bump(0.29, 0.009, 950)
                    + bump(0.315, 0.009, -200) + bump(0.52, 0.05, 240)
                    + 18 * math.sin(place / 700) + chance.gauss(0, 7)
                )
            finding = "Sinus Rhythm" if number != 2 else "Inconclusive"
            text = "\n".join(f"{value:.3f}" for value in values)
            files[f"ecg_{at:%Y-%m-%d}.csv"] = (
                f"Name,Nobody\nRecorded Date,{when(at)}\nClassification,{finding}\nSymptoms,None\n"
                'Software Version,2.0\nDevice,"Watch7,1"\nSample Rate,512 hertz\n\nLead,Lead I\n'
                f"Unit,µV\n\n{text}\n"
            )
        return files

    def days(self):
        today = self.until.replace(hour=0, minute=0, second=0, microsecond=0)
        for back in range(round(self.years * 365.25), -1, -1):
            day = today - timedelta(days=back)
            dense = back < DENSE_DAYS
            self.heart(day, 10 if dense else 60 if back < 400 else 480)
            self.steps(day, 12 if dense else 2)
            if back < 400:
                self.night(day)
                self.diary(day)
            self.goals(day)
            if self.random.random() < 0.4 + 0.15 * self.fitness(day):
                self.workout(day)
        # What the backend refuses: a rate out of its range, and a type that it has no field for.
        for back in (2, 5, 9):
            self.quantity(
                "HeartRate", today - timedelta(days=back, hours=3), 0, 221 + back, "count/min"
            )
        for back in range(20):
            self.quantity("AppleStandTime", today - timedelta(days=back, hours=4), 5, 4, "min")

    def text(self):
        self.days()
        return "\n".join(
            [
                '<?xml version="1.0" encoding="UTF-8"?>',
                '<HealthData locale="en_GB">',
                f' <ExportDate value="{when(self.until)}"/>',
                *self.lines,
                "</HealthData>",
                "",
            ]
        )


def write(export, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("apple_health_export/export.xml", export.text())
        for name, text in export.electrocardiograms().items():
            archive.writestr(f"apple_health_export/electrocardiograms/{name}", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--years", type=float, default=10)
    parser.add_argument("--until", help="RFC 3339 in UTC; default now")
    options = parser.parse_args()
    until = datetime.now(timezone.utc)
    if options.until:
        until = datetime.fromisoformat(options.until.replace("Z", "+00:00"))
    write(Export(until, options.years), options.out)


if __name__ == "__main__":
    main()
