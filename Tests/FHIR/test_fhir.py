"""The stand-in for a FHIR server, read with clients and models that nobody here wrote."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from fhir.resources.R4B import get_fhir_model_class
from fhirpy import SyncFHIRClient
from fhirpy.base.exceptions import OperationOutcome, ResourceNotFound

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PAGES_PROGRAMS") or ROOT / ".build/debug")

TOKEN = "Bearer invented"


def observation(number):
    return {
        "resourceType": "Observation",
        "id": f"o-{number}",
        "status": "final",
        "identifier": [{"system": "urn:invented", "value": str(number)}],
        "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4"}]},
        "subject": {"reference": "Patient/p"},
        "effectiveDateTime": f"2026-03-02T08:{number:02}:00+01:00",
        "valueQuantity": {
            "value": 60 + number,
            "unit": "/min",
            "system": "http://unitsofmeasure.org",
            "code": "/min",
        },
    }


def valid(resource):
    """Returns the resource after its model has parsed it, which refuses another shape."""
    get_fhir_model_class(resource["resourceType"]).model_validate(resource)
    return resource


class MannerCase(unittest.TestCase):
    def serve(self, manner):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        server = subprocess.Popen(
            [PROGRAMS / "clarity-jobs-sandbox", "--data", place.name, "--fhir", manner]
            + ["--fhir-with", "update-create", "--fhir-login", "token:invented"]
            + ["--listen", "127.0.0.1:0", "--exit-with-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(server.communicate)
        line = server.stdout.readline()
        url = line.split(" on ")[1].removesuffix("/api/v1\n") + "/fhir"
        return SyncFHIRClient(url, authorization=TOKEN)

    def own(self, client, **changes):
        values = {**observation(1), **changes}
        return client.resource(values.pop("resourceType"), **values)

    def test_every_manner_gives_back_what_was_sent(self):
        for manner in ["hapi", "medplum", "azure", "google"]:
            with self.subTest(manner):
                client = self.serve(manner)
                client.resource("Patient", id="p").save()
                entries = [
                    {
                        "resource": observation(number),
                        "request": {"method": "PUT", "url": f"Observation/o-{number}"},
                    }
                    for number in range(45)
                ]
                bundle = {"resourceType": "Bundle", "type": "batch", "entry": entries}
                answer = client.execute("", "post", data=valid(bundle))
                self.assertEqual(
                    {entry["response"]["status"][:3] for entry in valid(answer)["entry"]}, {"201"}
                )

                search = client.resources("Observation").search(patient="p").limit(10)
                found = {each["id"]: each.serialize() for each in search.fetch_all()}
                self.assertEqual(len(found), 45)
                for number in range(45):
                    sent = observation(number)
                    got = valid(found[sent["id"]])
                    self.assertEqual({key: got[key] for key in sent}, sent)
                    self.assertEqual(got["meta"]["versionId"], "1")

                self.assertEqual(client.resources("Observation").search(code="8867-4").count(), 45)
                late = client.resources("Observation").search(date__ge="2026-03-02T07:40:00Z")
                self.assertEqual(late.count(), 5)
                one = client.resources("Observation").search(identifier="urn:invented|7").get()
                self.assertEqual(one["id"], "o-7")

    def test_a_change_a_condition_and_a_deletion(self):
        client = self.serve("azure")
        client.resource("Patient", id="p").save()
        first = self.own(client)
        first.save()
        first["status"] = "amended"
        first.save()
        history = valid(client.execute("Observation/o-1/_history", "get"))
        self.assertEqual(history["total"], 2)

        condition = {"If-None-Exist": "identifier=urn:invented|1"}
        careful = SyncFHIRClient(client.url, authorization=TOKEN, extra_headers=condition)
        found = careful.execute("Observation", "post", data=observation(1))
        self.assertEqual((found["id"], found["status"]), ("o-1", "amended"))

        first.delete()
        for name, code in [("o-1", "deleted"), ("none", "not-found")]:
            with self.assertRaises(ResourceNotFound) as missing:
                client.reference("Observation", name).to_resource()
            outcome = json.loads(str(missing.exception))
            self.assertEqual(valid(outcome)["issue"][0]["code"], code)

    def test_a_refusal_is_an_outcome_and_the_statement_has_its_shape(self):
        client = self.serve("hapi")
        with self.assertRaises(OperationOutcome) as refused:
            self.own(client, status="done").save()
        valid(refused.exception.resource)
        valid(client.execute("metadata", "get"))


if __name__ == "__main__":
    unittest.main()
