"""findings.py QUIRKS EXCEPTIONS REPORT: counts the findings of a Schemathesis report, and prints
those that no line of EXCEPTIONS covers. Exits with 1 if there are any, or with 2 if the report is
empty."""

import collections
import json
import sys

quirks, exceptions_path, report_path = sys.argv[1:]
exceptions = []
for line in open(exceptions_path):
    fields = line.split()
    if fields and not line.startswith("#"):
        exceptions.append(fields)

findings, cases = collections.Counter(), 0
for line in open(report_path):
    event = json.loads(line).get("ScenarioFinished")
    if event is None:
        continue
    recorder = event["recorder"]
    for case, checks in (recorder.get("checks") or {}).items():
        cases += 1
        answer = recorder["interactions"].get(case, {}).get("response") or {}
        for check in checks:
            if check["status"] == "failure":
                method, path = recorder["label"].split(" ", 1)
                status = str(answer.get("status_code"))
                findings[(quirks, check["name"], method, path, status)] += 1


def covers(exception, finding):
    return all(wanted in ("*", found) for wanted, found in zip(exception, finding))


unexplained = {
    finding: count
    for finding, count in findings.items()
    if not any(covers(exception, finding) for exception in exceptions)
}
for finding, count in sorted(unexplained.items()):
    print(f"undocumented: {' '.join(finding[1:])}, {count} times")
print(
    f"quirks {quirks}: {cases} cases, {sum(findings.values())} findings of {len(findings)} sorts, "
    f"{len(unexplained)} of them undocumented"
)
sys.exit(2 if cases == 0 else 1 if unexplained else 0)
