#!/usr/bin/env python3
"""Makes the sample exports beside this script, with what a reader must count in them.

    export.zip            six invented weeks of one person, as a phone exports them
    export-malformed.zip  a short one with everything that real exports have had wrong

Every person, device and number is invented. The same script makes the same bytes. The counts in
*.truth.json are kept while the records are written, not read back from them.
"""

import json
import math
import random
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST_DAY = datetime(2026, 10, 3, tzinfo=timezone.utc)
DAYS = 42
EXPORTED = datetime(2026, 11, 14, 20, 5, 0, tzinfo=timezone.utc)
# A phone writes every date with the offset that it has on the day of the export.
OFFSET = timezone(timedelta(hours=-5))
WATCH = "Robin\u2019s Apple\u00a0Watch"
PHONE = "Robin\u2019s iPhone"

REQUIRED, IMPLIED = "#REQUIRED", "#IMPLIED"
SPAN = {"startDate": REQUIRED, "endDate": REQUIRED}
ORIGIN = {"sourceName": REQUIRED, "sourceVersion": IMPLIED, "device": IMPLIED, "creationDate": IMPLIED}
GRAMMAR = {
    "HealthData": (
        "(ExportDate,Me,(Record|Correlation|Workout|ActivitySummary|ClinicalRecord|Audiogram"
        "|VisionPrescription)*)",
        {"locale": REQUIRED}),
    "ExportDate": ("EMPTY", {"value": REQUIRED}),
    "Me": ("EMPTY", {
        "HKCharacteristicTypeIdentifier" + name: REQUIRED
        for name in ("DateOfBirth", "BiologicalSex", "BloodType", "FitzpatrickSkinType",
                     "CardioFitnessMedicationsUse")}),
    "Record": ("((MetadataEntry|HeartRateVariabilityMetadataList)*)",
               {"type": REQUIRED, "unit": IMPLIED, "value": IMPLIED, **ORIGIN, **SPAN}),
    "Correlation": ("((MetadataEntry|Record)*)", {"type": REQUIRED, **ORIGIN, **SPAN}),
    "Workout": ("((MetadataEntry|WorkoutEvent|WorkoutRoute|WorkoutStatistics)*)",
                {"workoutActivityType": REQUIRED, "duration": IMPLIED, "durationUnit": IMPLIED,
                 **ORIGIN, **SPAN}),
    "WorkoutStatistics": ("EMPTY", {"type": REQUIRED, **SPAN, "average": IMPLIED,
                                    "sum": IMPLIED, "unit": IMPLIED}),
    "ActivitySummary": ("EMPTY", {name: IMPLIED for name in (
        "dateComponents", "activeEnergyBurned", "activeEnergyBurnedGoal",
        "activeEnergyBurnedUnit", "appleExerciseTime", "appleExerciseTimeGoal",
        "appleStandHours", "appleStandHoursGoal")}),
    "MetadataEntry": ("EMPTY", {"key": REQUIRED, "value": REQUIRED}),
    "HeartRateVariabilityMetadataList": ("(InstantaneousBeatsPerMinute*)", {}),
    "InstantaneousBeatsPerMinute": ("EMPTY", {"bpm": REQUIRED, "time": REQUIRED}),
    "VisionPrescription": ("((RightEye|LeftEye|MetadataEntry)*)",
                           {"type": REQUIRED, "dateIssued": REQUIRED, "brand": IMPLIED}),
    "RightEye": ("EMPTY", {"sphere": IMPLIED, "sphereUnit": IMPLIED}),
    "LeftEye": ("EMPTY", {"sphere": IMPLIED, "sphereUnit": IMPLIED}),
}


def document_type(version):
    """The inline document type; the one of version 12 leaves three declarations open."""
    lines = ["<!DOCTYPE HealthData [", f"<!-- HealthKit Export Version: {version} -->"]
    for element, (content, attributes) in GRAMMAR.items():
        lines.append(f"<!ELEMENT {element} {content}>")
        if attributes:
            lines.append(f"<!ATTLIST {element}")
            lines += [f"  {name} CDATA {need}" for name, need in attributes.items()]
            if version != 12 or element not in ("VisionPrescription", "RightEye", "LeftEye"):
                lines.append(">")
    if version == 12:
        lines += ["<!ELEMENT Attachment EMPTY>", ">"]
    return "\n".join(lines + ["]>", ""])


def when(moment):
    return moment.astimezone(OFFSET).strftime("%Y-%m-%d %H:%M:%S %z")


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


# What goes into a day and is no sample of its own.
FOLDED = {"steps", "distance", "active_energy", "exercise_minutes", "flights_climbed", "vo2_max",
          "resting_heart_rate"}


class Truth:
    """What a reader must count."""

    def __init__(self):
        self.records_read = self.nested_skipped = self.nested_taken = self.paired_partners = 0
        self.samples, self.unmapped, self.refused, self.malformations = {}, {}, {}, {}
        self.aggregated = self.repeated = self.workouts = 0
        self.broke_at = None

    def note(self, table, name, count=1):
        table[name] = table.get(name, 0) + count

    def as_json(self):
        return json.dumps({
            "recordsRead": self.records_read, "nestedSkipped": self.nested_skipped,
            "nestedTaken": self.nested_taken, "pairedPartners": self.paired_partners,
            "aggregated": self.aggregated, "repeated": self.repeated, "samples": self.samples, "unmapped": self.unmapped, "refused": self.refused,
            "workouts": self.workouts,
            "malformations": self.malformations, "brokeAt": self.broke_at,
        }, indent=2, sort_keys=True) + "\n"


class Export:
    def __init__(self, seed, version):
        self.random = random.Random(seed)
        self.truth = Truth()
        self.text = bytearray()
        self.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self.write(document_type(version))
        self.write('<HealthData locale="en_US">\n')
        self.write(f' <ExportDate value="{when(EXPORTED)}"/>\n')
        self.write(' <Me HKCharacteristicTypeIdentifierDateOfBirth="1979-02-11"'
                   ' HKCharacteristicTypeIdentifierBiologicalSex="HKBiologicalSexNotSet"'
                   ' HKCharacteristicTypeIdentifierBloodType="HKBloodTypeNotSet"'
                   ' HKCharacteristicTypeIdentifierFitzpatrickSkinType="HKFitzpatrickSkinTypeNotSet"'
                   ' HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse="None"/>\n')

    def write(self, text):
        self.text += text if isinstance(text, bytes) else text.encode()

    def device(self, source):
        pointer = f"0x{0x280000000 | self.random.getrandbits(32):x}"
        if source == WATCH:
            what = "name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch7,1, software:12.1"
        elif source == PHONE:
            what = "name:iPhone, manufacturer:Apple Inc., model:iPhone, hardware:iPhone16,2, software:19.1"
        else:
            return None
        return f"<<HKDevice: {pointer}>, {what}>"

    def tag(self, kind, source, unit, start, end, value, created=None):
        device = self.device(source)
        parts = [f'type="{kind}"', f'sourceName="{escaped(source)}"']
        if device:
            parts += ['sourceVersion="12.1"', f'device="{escaped(device)}"']
        if unit:
            parts.append(f'unit="{escaped(unit)}"')
        parts.append(f'creationDate="{when(created or end + timedelta(seconds=41))}"')
        parts += [f'startDate="{when(start)}"', f'endDate="{when(end)}"']
        if value is not None:
            parts.append(f'value="{escaped(str(value))}"')
        return "Record " + " ".join(parts)

    def record(self, kind, sample, source, unit, start, seconds, value, inside=""):
        """Writes a record that becomes a `sample`, or is of a type without one when it is None."""
        end = start + timedelta(seconds=seconds)
        copies = 2 if sample and self.random.random() < 0.004 else 1
        for copy in range(copies):
            created = None if copy == 0 else end + timedelta(days=2)
            tag = self.tag(kind, source, unit, start, end, value, created)
            self.write(f" <{tag}>\n{inside} </Record>\n" if inside else f" <{tag}/>\n")
            self.truth.records_read += 1
            if sample in FOLDED or kind == "HKCategoryTypeIdentifierSleepAnalysis":
                self.truth.aggregated += 1 - copy
                self.truth.repeated += copy
            elif sample or kind.endswith("BloodGlucose"):
                self.truth.note(self.truth.samples, sample or "blood_glucose")
            else:
                self.truth.note(self.truth.unmapped, kind)

    def raw(self, attributes, sample=None, refused=None, malformation=None, inside=None):
        """Writes a heart rate record with its attributes as they stand."""
        record = b" <Record " + (attributes if isinstance(attributes, bytes) else attributes.encode())
        self.write(record + (b"/>\n" if inside is None else b">\n" + inside + b" </Record>\n"))
        self.truth.records_read += 1
        if sample:
            self.truth.note(self.truth.samples, sample)
        if refused:
            self.truth.note(self.truth.refused, refused)
        if malformation:
            self.truth.note(self.truth.malformations, malformation)

    def blood_pressures(self, readings):
        """Writes (moment, systolic, diastolic) thrice, as exports do: apart, apart, and together."""
        names = ("HKQuantityTypeIdentifierBloodPressureSystolic",
                 "HKQuantityTypeIdentifierBloodPressureDiastolic")
        for index, name in enumerate(names):
            for reading in readings:
                moment = reading[0]
                self.write(f" <{self.tag(name, 'Cuff', 'mmHg', moment, moment, reading[1 + index])}/>\n")
                self.truth.records_read += 1
        # In the other order: only the Correlation tells two readings of one minute apart.
        for moment, systolic, diastolic in reversed(readings):
            self.write(' <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="Cuff"'
                       f' creationDate="{when(moment)}" startDate="{when(moment)}" endDate="{when(moment)}">\n'
                       '  <MetadataEntry key="HKWasUserEntered" value="1"/>\n')
            for name, value in zip(names, (systolic, diastolic)):
                self.write(f"  <{self.tag(name, 'Cuff', 'mmHg', moment, moment, value)}/>\n")
            self.write(" </Correlation>\n")
            self.truth.nested_skipped += 2
            self.truth.paired_partners += 1
            self.truth.note(self.truth.samples, "blood_pressure")

    def save(self, name, member):
        path = HERE / f"{name}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            def add(inner, data):
                info = zipfile.ZipInfo(f"apple_health_export/{inner}", (2026, 11, 14, 15, 5, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, data, compresslevel=9)
            add("export_cda.xml", '<?xml version="1.0"?>\n<ClinicalDocument xmlns="urn:hl7-org:v3"/>\n')
            add("workout-routes/route_2026-10-10_9.00am.gpx", '<?xml version="1.0"?>\n<gpx version="1.1"/>\n')
            add(member, bytes(self.text))
        (HERE / f"{name}.truth.json").write_text(self.truth.as_json())


def awake(hour):
    """How lively an hour of the day is, 0 to 1."""
    return max(0.0, math.sin((hour - 6) / 17 * math.pi)) if 6 <= hour <= 23 else 0.0


def weeks():
    export = Export("six weeks", 14)
    chance = export.random
    days = [FIRST_DAY + timedelta(days=index) for index in range(DAYS)]
    quantity = "HKQuantityTypeIdentifier"

    def at(day, hour):
        """A moment of the local day, a few minutes off."""
        return day + timedelta(hours=hour + 5, seconds=chance.randrange(1500))

    for day in days:
        for hour in (1, 4, 7, 8, 10, 12, 14, 16, 17, 18, 20, 22):
            rate = 54 + 34 * awake(hour) + chance.gauss(0, 5) + (40 if hour == 17 else 0)
            value = f"{rate:.0f}" if chance.random() < 0.9 else f"{rate:.6g}"
            context = chance.choice("0012")
            export.record(
                quantity + "HeartRate", "heart_rate", WATCH, "count/min", at(day, hour), 0, value,
                f'  <MetadataEntry key="HKMetadataKeyHeartRateMotionContext" value="{context}"/>\n')
    for day in days:
        for hour in (2, 13):
            export.record(quantity + "OxygenSaturation", "oxygen_saturation", WATCH, "%",
                          at(day, hour), 0, f"{chance.choice((95, 96, 97, 98, 99)) / 100:g}")
    for day in days:
        for hour in (1, 4):
            export.record(quantity + "RespiratoryRate", "respiratory_rate", WATCH, "count/min",
                          at(day, hour), 1800, f"{chance.randrange(24, 36) / 2:g}")
    for source, hours in ((PHONE, (8, 12, 17, 19)), (WATCH, (7, 9, 12, 17, 20))):
        for day in days:
            for hour in hours:
                seconds = chance.randrange(120, 600)
                export.record(quantity + "StepCount", "steps", source, "count", at(day, hour), seconds,
                              int(seconds * awake(hour) * chance.uniform(0.6, 1.7)) + 7)
    for source, hours in ((PHONE, (8, 12, 17)), (WATCH, (7, 9, 17, 20))):
        for day in days:
            for hour in hours:
                export.record(quantity + "DistanceWalkingRunning", "distance", source, "mi",
                              at(day, hour), chance.randrange(120, 600), f"{chance.uniform(0.02, 0.5):.6g}")
    for day in days:
        for hour in (3, 15):
            export.record(quantity + "BasalEnergyBurned", None, WATCH, "Cal", at(day, hour), 3600,
                          f"{chance.uniform(55, 75):.6g}")
    for day in days:
        for hour in (7, 9, 12, 15, 17, 20):
            export.record(quantity + "ActiveEnergyBurned", "active_energy", WATCH, "Cal", at(day, hour), 900,
                          f"{4 + 50 * awake(hour) * chance.random():.6g}")
    for day in days:
        export.record(quantity + "FlightsClimbed", "flights_climbed", PHONE, "count", at(day, 9), 40,
                      chance.randrange(1, 5))
    for day in days:
        export.record(quantity + "AppleExerciseTime", "exercise_minutes", WATCH, "min", at(day, 17), 60, 1)
    for day in days:
        export.record(quantity + "RestingHeartRate", "resting_heart_rate", WATCH, "count/min",
                      day + timedelta(hours=5), 86340, chance.randrange(51, 59))
    for day in days[::7]:
        export.record(quantity + "VO2Max", "vo2_max", WATCH, "mL/min\u00b7kg", at(day, 18), 0,
                      f"{chance.uniform(40, 43):.2f}")
    for day in days[::2]:
        start = at(day, 3)
        beats = ""
        for beat in range(40):
            moment = (start + timedelta(seconds=beat)).astimezone(OFFSET)
            beats += ('   <InstantaneousBeatsPerMinute '
                      f'bpm="{chance.randrange(50, 66)}" time="{moment.strftime("%I:%M:%S").lstrip("0")}'
                      f'.{chance.randrange(100):02d}\u202f{moment.strftime("%p")}"/>\n')
        export.record(quantity + "HeartRateVariabilitySDNN", "heart_rate_variability", WATCH, "ms", start, 60,
                      f"{chance.uniform(28, 75):.6g}",
                      '  <MetadataEntry key="HKAlgorithmVersion" value="2"/>\n'
                      f"  <HeartRateVariabilityMetadataList>\n{beats}  </HeartRateVariabilityMetadataList>\n")
    for day in days:
        start = at(day, -1)
        for stage in ("AsleepCore", "AsleepDeep", "AsleepREM", "Awake"):
            seconds = chance.randrange(20, 240) * 30
            export.record("HKCategoryTypeIdentifierSleepAnalysis", None, WATCH, None, start, seconds,
                          "HKCategoryValueSleepAnalysis" + stage,
                          '  <MetadataEntry key="HKTimeZone" value="America/New_York"/>\n')
            start += timedelta(seconds=seconds)
    for day in days[::2]:
        export.record("HKCategoryTypeIdentifierMindfulSession", "meditation_minutes", "Breathe & Rest", None,
                      at(day, 21), 60 * chance.randrange(3, 16), None)
    for day in days:
        export.record("HKCategoryTypeIdentifierAppleStandHour", None, WATCH, None, at(day, 11), 3600,
                      "HKCategoryValueAppleStandHourStood")
    for day in days[::3]:
        export.record(quantity + "BloodGlucose", None, "Meter", "mmol<180.1558800000541>/L", at(day, 8), 0,
                      f"{chance.uniform(4.4, 6.1):.1f}")
    export.record("HKDataTypeSleepDurationGoal", None, "Health", "hr", days[0], 0, 8)

    readings = [(at(day, 7).replace(second=0), chance.randrange(112, 134), chance.randrange(70, 86))
                for day in days[::2]]
    # Twice in the same minute: only the Correlation tells what belongs together.
    readings.insert(1, (readings[0][0], readings[0][1] + 9, readings[0][2] - 3))
    export.blood_pressures(readings)

    for day in days[::4]:
        # A workout is a record of its own, into which an app has put all that it knows.
        export.truth.records_read += 1
        export.truth.aggregated += 1
        export.truth.workouts += 1
        start, seconds = at(day, 17), chance.randrange(1200, 3000)
        span = f'startDate="{when(start)}" endDate="{when(start + timedelta(seconds=seconds))}"'
        export.write(
            ' <Workout workoutActivityType="HKWorkoutActivityTypeRunning"'
            f' duration="{seconds / 60:.6g}" durationUnit="min" sourceName="{WATCH}" {span}>\n'
            f'  <WorkoutStatistics type="{quantity}ActiveEnergyBurned" {span} sum="{seconds / 7:.6g}" unit="Cal"/>\n'
            f'  <WorkoutStatistics type="{quantity}HeartRate" {span} average="141.2" unit="count/min"/>\n'
            " </Workout>\n")
    for index, day in enumerate(days):
        export.write(
            f' <ActivitySummary dateComponents="{day.date()}" activeEnergyBurned="{310 + index * 7 % 190}"'
            ' activeEnergyBurnedGoal="420" activeEnergyBurnedUnit="Cal"'
            f' appleExerciseTime="{18 + index * 5 % 40}" appleExerciseTimeGoal="30"'
            f' appleStandHours="{9 + index % 5}" appleStandHoursGoal="12"/>\n')
    export.write("</HealthData>\n")
    export.save("export", "export.xml")


def malformed():
    export = Export("malformed", 12)
    truth = export.truth
    truth.note(truth.malformations, "malformed document type", 3)
    heart = 'type="HKQuantityTypeIdentifierHeartRate"'
    dates = 'startDate="2026-11-01 08:30:00 -0500" endDate="2026-11-01 08:30:00 -0500"'
    base = f'unit="count/min" {dates}'

    for index in range(20):
        export.record("HKQuantityTypeIdentifierHeartRate", "heart_rate", WATCH, "count/min",
                      FIRST_DAY + timedelta(hours=index), 0, 60 + index)
    export.raw(f'{heart} sourceName="a" {base} value="61"', "heart_rate", malformation="control character",
               inside=b'  <MetadataEntry key="note" value="one\x0btwo"/>\n')
    export.raw(f'{heart} sourceName="a" {base} value="62"', "heart_rate",
               malformation="illegal character reference",
               inside=b'  <MetadataEntry key="note" value="one&#x0B;two"/>\n')
    export.raw(f'{heart} sourceName="Salt & Pepper" {base} value="63"', "heart_rate", malformation="raw ampersand")
    export.raw(f'{heart} sourceName="a<b" {base} value="64"', "heart_rate", malformation="raw less-than sign")
    export.raw(f'{heart} sourceName="&made-up;" {base} value="65"', "heart_rate", malformation="unknown entity")
    export.raw(f'{heart} sourceName="a" {base} startDate="2026-11-02 08:30:00 -0500" value="66"', "heart_rate",
               malformation="duplicate attribute")
    export.raw(f'{heart} sourceName="a" {base} Scale App Version="2.6.0" value="67"', "heart_rate",
               malformation="attribute name with a space")
    export.raw(f'{heart} sourceName="Jos'.encode() + b"\xe9" + f'" {base} value="68"'.encode(), "heart_rate",
               malformation="bad UTF-8")
    export.raw(f'{heart} sourceName="a" {base} value=69', "heart_rate",
               malformation="attribute value without quotes")
    export.raw(f"type='HKQuantityTypeIdentifierHeartRate' sourceName='\"a\" > b' {base} value='70'", "heart_rate")
    export.raw(f'{heart}\r\n sourceName="a"\r\n\t{base} value = "71"', "heart_rate")
    export.raw(f'{heart} sourceName="a" unit="count/min" startDate="20261101083000-0500"'
               ' endDate="20261101083000-0500" value="72"', "heart_rate")
    export.raw(f'value="73" {dates} unit="count/min" {heart}', "heart_rate")
    for date in ("2026-11-01", "2026-13-41 08:30:00 -0500", "", "2026-11-01T08:30:00Z", "2026-11-01 08:30:00",
                 "0001-01-01 00:00:00 +0000", "01/11/2026 8:30 PM"):
        export.raw(f'{heart} sourceName="a" unit="count/min" startDate="{date}" endDate="{date}" value="74"',
                   refused="bad date")
    for value in ("nan", "inf", "1e400", "72,5", "", "72 bpm", "0x48"):
        export.raw(f'{heart} sourceName="a" {base} value="{value}"', refused="bad value")
    export.raw(f'{heart} sourceName="a" {base} value="-1"', refused="negative value")
    export.raw(f'{heart} sourceName="a" {base}', refused="no value")
    export.raw(f'{heart} sourceName="a" {dates} value="75"', refused="no unit")
    export.raw(f'{heart} sourceName="a" unit="furlong" {dates} value="75"', refused="unknown unit")
    export.raw(f'{heart} sourceName="a" unit="count/min" startDate="2026-11-01 08:30:00 -0500" value="75"',
               refused="no date")
    export.raw(f'sourceName="a" {base} value="75"', refused="no type")
    export.raw(f'{heart} sourceName="a" unit="count/min" startDate="2026-11-01 08:30:00 -0500"'
               ' endDate="2026-11-01 08:00:00 -0500" value="75"', refused="end before start")
    export.raw(f'{heart} sourceName="a" unit="count/min" startDate="2099-01-01 00:00:00 +0000"'
               ' endDate="2099-01-01 00:00:00 +0000" value="75"', refused="in the future")
    export.raw(f'type="HKQuantityTypeIdentifierBloodPressureSystolic" sourceName="Cuff" unit="mmHg" {dates}'
               ' value="120"', refused="blood pressure without its other half")
    export.write(' <![CDATA[ <Record type="ignored"/> ]]>\n <!-- <Record type="ignored"/> -->\n')
    # A tag in which the next one begins, and text where none belongs.
    export.write(f' <Record {heart} sourceName="a"\n')
    truth.records_read += 1
    truth.note(truth.refused, "unclosed tag")
    truth.note(truth.malformations, "unclosed tag")
    export.raw(f'{heart} sourceName="a" {base} value="76"', "heart_rate")
    export.write(" lost\n")
    truth.note(truth.malformations, "text between elements")
    export.write(' <VisionPrescription type="HKVisionPrescriptionTypeGlasses" dateIssued="2026-10-05"'
                 ' startDate="2026-10-05" startDate="2026-10-05"/>\n')
    truth.note(truth.malformations, "duplicate attribute")
    export.write('</HealthData>\n<HealthData locale="en_US">\n')
    truth.note(truth.malformations, "second root")
    export.raw(f'{heart} sourceName="a" {base} value="77"', "heart_rate")
    truth.broke_at = {"byteOffset": len(export.text) + 1, "reason": "the text ends inside a tag"}
    export.write(' <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="a" startDate="2026-1')
    export.save("export-malformed", "\u044d\u043a\u0441\u043f\u043e\u0440\u0442.xml")


if __name__ == "__main__":
    weeks()
    malformed()
