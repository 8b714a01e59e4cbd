import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing

@Suite("Records as Observations of FHIR", .timeLimit(.minutes(5)))
struct ObservationProgramTests {
    /// The Python that `scripts/setup test` gives the classes of FHIR.
    private static let python = "\(Playground.root)/.build/fhir/bin/python"
    private static let hasClasses = access(python, X_OK) == 0

    /// Validates every line, and compares it with what Python's XML parser finds in the export.
    private static let comparison = """
        import glob, json, re, sys, zipfile
        import xml.etree.ElementTree as tree
        from decimal import Decimal
        from fhir.resources.R4B.observation import Observation
        zip, folder = sys.argv[1:]
        archive = zipfile.ZipFile(zip)
        name = next(n for n in archive.namelist()
            if n.endswith('.xml') and not n.endswith('_cda.xml'))
        def time(text):
            return text[:10] + 'T' + text[11:19] + text[20:23] + ':' + text[23:]
        def device(text):
            if not text: return {}
            parts = re.findall(r"(?:^|, )([A-Za-z ]+):(.*?)(?=, [A-Za-z ]+:|>?$)", text)
            return {name: value for name, value in parts if name != 'creation date'}
        def number(text):
            try: return Decimal(text)
            except Exception: return None
        wanted = []
        for record in tree.parse(archive.open(name)).getroot().findall('Record'):
            get = record.get
            value = number(get('value'))
            if value is not None and get('unit') == '%': value *= 100
            wanted.append(repr([get('type'), get('sourceName'), get('sourceVersion'),
                sorted(device(get('device')).items()), get('unit'), time(get('creationDate')),
                time(get('startDate')), time(get('endDate')),
                get('value') if value is None else value.normalize(),
                sorted((m.get('key'), m.get('value')) for m in record.findall('MetadataEntry'))]))
        types = {line.split("'")[1] for line in wanted}
        found, ids, devices = [], set(), {}
        for line in open(folder + '/Device.ndjson', encoding='utf-8'):
            d = json.loads(line)
            names = {n['type']: n['name'] for n in d.get('deviceName', [])}
            fields = {v['type']['text']: v['value'] for v in d.get('version', [])}
            version = fields.pop('source', None)
            for key, value in [('name', names.get('model-name')),
                    ('manufacturer', d.get('manufacturer')), ('model', d.get('modelNumber'))]:
                if value: fields[key] = value
            devices['Device/' + d['id']] = (
                names.get('user-friendly-name'), version, sorted(fields.items()))
        for path in glob.glob(folder + '/Observation.*.ndjson'):
            for line in open(path, encoding='utf-8'):
                Observation.model_validate_json(line)
                o = json.loads(line, parse_float=Decimal, parse_int=Decimal)
                ids.add(o['id'])
                assert o['status'] == 'final', line
                # A workout and the like: what is in it stands in its components.
                if o['code'].get('coding', [{}])[-1].get('code') not in types: continue
                period = o.get('effectivePeriod') or {
                    'start': o['effectiveDateTime'], 'end': o['effectiveDateTime']}
                quantity = o.get('valueQuantity', {})
                value = o.get('valueCodeableConcept', {'coding': [{'code': None}]})
                parts = [(c['code']['text'], c['valueString']) for c in o.get('component', [])]
                source, version, fields = devices[o['device']['reference']]
                found.append(repr([o['code']['coding'][-1]['code'], source,
                    version, fields, quantity.get('unit'), o['issued'],
                    period['start'], period['end'],
                    quantity['value'].normalize() if quantity else value['coding'][0]['code'],
                    sorted(parts)]))
        print(len(wanted), len(found), len(ids), sorted(wanted) == sorted(found))
        """

    @Test(.enabled(if: hasClasses, "needs fhir.resources; `scripts/setup test` installs it"))
    func `every record of an export becomes a valid Observation that says the same`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.useExample("export.zip")
        let folder = "\(playground.folder.path)/records"
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml", "-q")

        let result = try await playground.run("export-data", "--out", folder, "--format", "fhir")

        #expect(result.status == 0, "\(result.errors)")
        let python = try ChildProgram(
            Self.python, ["-c", Self.comparison, "\(Playground.examples)/export.zip", folder],
            environment: ["PATH": "/usr/bin:/bin"])
        let compared = await python.finish()
        #expect(compared.output == "2133 2133 2230 True\n", "\(compared.errors)")
    }

    /// Returns the lines of each file after an import of these elements, by its name.
    private func export(
        _ elements: [String], to name: String = "records", in playground: Playground
    ) async throws -> [String: [String]] {
        let xml = "<HealthData>\n\(elements.joined(separator: "\n"))\n</HealthData>\n"
        try playground.folder.write("\(name).xml", Array(xml.utf8))
        let folder = "\(playground.folder.path)/\(name)"
        let read = try await playground.run(
            "import", "\(folder).xml", "-q", environment: ["TZ": "UTC"])
        #expect(read.status == 0, "\(read.errors)")
        let result = try await playground.run("export-data", "--out", folder, "--format", "fhir")
        #expect(result.status == 0, "\(result.errors)")
        var lines: [String: [String]] = [:]
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let text = String(
                decoding: try TemporaryFolder.read("\(folder)/\(file)"), as: UTF8.self)
            #expect(text.hasSuffix("\n"))
            lines[file] = text.split(separator: "\n").map(String.init)
        }
        return lines
    }

    private static let heartRate = """
        <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" sourceVersion="12.1" \
        device="&lt;&lt;HKDevice: 0x28304a0d0&gt;, name:Watch&gt;" unit="count/min" \
        creationDate="2026-01-02 03:05:00 +0100" startDate="2026-01-02 03:04:05 +0100" \
        endDate="2026-01-02 03:04:05 +0100" value="61.10">
        <MetadataEntry key="HKMetadataKeyHeartRateMotionContext" value="1"/>
        </Record>
        """

    @Test func `a line has codes, times and everything that the source said`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let files = try await export([Self.heartRate], in: playground)

        let lines = try #require(files["Observation.HKQuantityTypeIdentifierHeartRate.ndjson"])
        let line = try #require(lines.first)
        let device = try #require(files["Device.ndjson"]?.first)
        let id = /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        let deviceID = try #require(device.firstMatch(of: id))
        #expect(
            line.replacing(deviceID.output, with: "DEVICE").replacing(id, with: "ID") == """
                {"resourceType":"Observation","id":"ID","meta":{"profile":[\
                "http://hl7.org/fhir/StructureDefinition/heartrate"]},"status":"final",\
                "category":[{"coding":[{\
                "system":"http://terminology.hl7.org/CodeSystem/observation-category",\
                "code":"vital-signs"}]}],"code":{"coding":[{"system":"http://loinc.org",\
                "code":"8867-4","display":"Heart rate"},{\
                "system":"http://developer.apple.com/documentation/healthkit",\
                "code":"HKQuantityTypeIdentifierHeartRate"}],"text":"HeartRate"},\
                "subject":{"display":"the person whose records these are"},\
                "device":{"reference":"Device/DEVICE","display":"Watch"},\
                "effectiveDateTime":"2026-01-02T03:04:05+01:00",\
                "issued":"2026-01-02T03:05:00+01:00",\
                "valueQuantity":{"value":61.10,"unit":"count/min",\
                "system":"http://unitsofmeasure.org","code":"/min"},\
                "component":[{"code":{"text":"HKMetadataKeyHeartRateMotionContext"},\
                "valueString":"1"}]}
                """)
        #expect(
            device.replacing(id, with: "ID") == """
                {"resourceType":"Device","id":"ID","deviceName":[{"name":"Watch",\
                "type":"user-friendly-name"},{"name":"Watch","type":"model-name"}],\
                "version":[{"type":{"text":"source"},"value":"12.1"}]}
                """)
    }

    @Test func `each record has an id of its own, which the next export gives it again`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let resting = Self.heartRate.replacing("HeartRate\" ", with: "RestingHeartRate\" ")
        let later = Self.heartRate.replacing("03:04:05", with: "04:04:05")
        func ids(_ files: [String: [String]]) -> Set<Substring> {
            Set(
                files.filter { $0.key != "Device.ndjson" }.values.joined()
                    .compactMap { $0.firstMatch(of: /"id":"(.*?)"/)?.output.1 })
        }

        let first = ids(
            try await export([Self.heartRate, resting, Self.heartRate], in: playground))
        let second = ids(
            try await export(
                [later, Self.heartRate, resting, Self.heartRate], to: "more", in: playground))

        #expect(first.count == 3 && second.count == 4)
        #expect(second.isSuperset(of: first))
    }

    @Test func `ids are another account's own, and a new master key leaves them`() async throws {
        func ids(_ files: [String: [String]]) -> [Substring] {
            files.values.joined().compactMap { $0.firstMatch(of: /"id":"(.*?)"/)?.output.1 }
        }
        let playground = try await Playground(sandboxOptions: nil)
        let other = try await Playground(sandboxOptions: nil)

        let first = ids(try await export([Self.heartRate], in: playground))
        let others = ids(try await export([Self.heartRate], in: other))
        let rotated = try await playground.run("key", "rotate")
        let again = ids(try await export([Self.heartRate], to: "again", in: playground))

        // The record and its device.
        #expect(first.count == 2 && others.count == 2 && Set(first).isDisjoint(with: others))
        #expect(rotated.status == 0, "\(rotated.errors)")
        #expect(Set(again) == Set(first))
    }

    @Test(arguments: [
        ("Patient/42", #""subject":{"reference":"Patient/42"}"#),
        (
            "https://clinic.example/mrn|47 11".replacing(" ", with: ""),
            #""subject":{"type":"Patient","identifier":{"system":"https://clinic.example/mrn","value":"4711"}}"#
        ),
    ])
    func `records are of the patient that somebody names`(
        patient: String, wanted: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await export([Self.heartRate], in: playground)
        let folder = "\(playground.folder.path)/named"

        let result = try await playground.run(
            "export-data", "--out", folder, "--format", "fhir", "--patient", patient)
        let csv = try await playground.run("export-data", "--out", folder, "--patient", patient)
        let bad = try await playground.run(
            "export-data", "--out", "\(folder)2", "--format", "fhir", "--patient", "Patient/a b")

        #expect(result.status == 0, "\(result.errors)")
        let line = String(
            decoding: try TemporaryFolder.read(
                "\(folder)/Observation.HKQuantityTypeIdentifierHeartRate.ndjson"), as: UTF8.self)
        #expect(line.contains(wanted), "\(line)")
        #expect(csv.status == 64 && csv.errors.contains("--patient is for --format fhir"))
        #expect(bad.status == 64 && bad.errors.contains("--patient is `Patient/ID`, or"))
    }

    @Test func `a blood pressure is one panel with both pressures`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let times = """
            startDate="2026-01-02 03:04:05 +0100" endDate="2026-01-02 03:04:05 +0100"
            """
        let parts = [("Systolic", 121), ("Diastolic", 81)].map { name, value in
            """
            <Record type="HKQuantityTypeIdentifierBloodPressure\(name)" sourceName="Cuff" \
            unit="mmHg" \(times) value="\(value)"/>
            """
        }
        let panel = """
            <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="Cuff" \
            \(times)>\(parts.joined())</Correlation>
            """

        let files = try await export(parts + [panel], in: playground)

        let line = files["Observation.HKCorrelationTypeIdentifierBloodPressure.ndjson"]?.first ?? ""
        for wanted in [
            #""system":"http://loinc.org","code":"85354-9""#, #""code":"vital-signs""#,
            """
            "component":[{"code":{"coding":[{"system":"http://loinc.org","code":"8480-6",\
            "display":"Systolic blood pressure"}],"text":"BloodPressureSystolic"},\
            "valueQuantity":{"value":121,"unit":"mmHg","system":"http://unitsofmeasure.org",\
            "code":"mm[Hg]"}},{"code":{"coding":[{"system":"http://loinc.org","code":"8462-4",\
            "display":"Diastolic blood pressure"}],"text":"BloodPressureDiastolic"},\
            "valueQuantity":{"value":81,
            """,
        ] {
            #expect(line.contains(wanted.replacing("\n", with: "")), "\(line)")
        }
        #expect(!line.contains("\"Record\""))
        #expect(line.contains(#""profile":["http://hl7.org/fhir/StructureDefinition/bp"]"#))
    }

    @Test func `a workout has its length, energy, distance and heart rates as quantities`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        func statistics(_ type: String, _ attributes: String) -> String {
            "<WorkoutStatistics type=\"HKQuantityTypeIdentifier\(type)\" \(attributes)/>"
        }
        let workout = """
            <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="46.31" \
            durationUnit="min" sourceName="Watch" startDate="2026-01-02 03:04:05 +0100" \
            endDate="2026-01-02 03:52:05 +0100">\
            \(statistics("ActiveEnergyBurned", #"sum="397" unit="Cal""#))\
            \(statistics("DistanceWalkingRunning", #"sum="8.2" unit="km""#))\
            \(statistics("HeartRate", #"average="141.2" maximum="170" unit="count/min""#))\
            </Workout>
            """

        let files = try await export([workout], in: playground)

        let line = files["Observation.Workout.ndjson"]?.first ?? ""
        for (code, value) in [
            ("55411-3", #"{"value":46.31,"unit":"min","system":"http://unitsofmeasure.org","#),
            ("55424-6", #"{"value":397,"unit":"Cal","#), ("55430-3", #"{"value":8.2,"unit":"km","#),
            ("55425-3", #"{"value":141.2,"#), ("55426-1", #"{"value":170,"#),
            ("73985-4", "HKWorkoutActivityTypeRunning"), ("PhysicalActivity", "pa-temporary-codes"),
        ] {
            #expect(line.contains(code) && line.contains(value), "\(code) \(line)")
        }
        #expect(!line.contains(#""text":"durationUnit""#))
        #expect(line.contains(#"{"code":{"text":"WorkoutStatistics"},"valueString":"#))
    }

    @Test(arguments: ["hourly", "days"])
    func `an export has a grain, which the other formats have not`(grain: String) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let later = Self.heartRate.replacing("03:04:05", with: "03:04:15")
        _ = try await export([Self.heartRate, later], in: playground)
        let folder = "\(playground.folder.path)/\(grain)"

        let result = try await playground.run(
            "export-data", "--out", folder, "--format", "fhir", "--grain", grain,
            environment: ["TZ": "UTC"])
        let csv = try await playground.run("export-data", "--out", folder, "--grain", grain)

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("2 records of 1 type"), "\(result.output)")
        let name = grain == "days" ? "days" : "HKQuantityTypeIdentifierHeartRate"
        let text = String(
            decoding: try TemporaryFolder.read("\(folder)/Observation.\(name).ndjson"),
            as: UTF8.self)
        #expect(text.contains(grain == "days" ? "41924-2" : #""data":"61.10 61.10""#), "\(text)")
        #expect(csv.status == 64 && csv.errors.contains("--grain is for --format fhir"))
    }

    @Test(arguments: [
        ("HKQuantityTypeIdentifierOxygenSaturation", "%", "0.955", #""value":95.5,"unit":"%","#),
        ("HKQuantityTypeIdentifierOxygenSaturation", "%", "1", #""value":100,"unit":"%","#),
        ("HKQuantityTypeIdentifierOxygenSaturation", "%", "96", #""value":96,"unit":"%","#),
        ("HKQuantityTypeIdentifierOxygenSaturation", "%", "0.9", #""value":90,"unit":"%","#),
        (
            "HKQuantityTypeIdentifierOxygenSaturation", "%", "-900000000000000000",
            #""value":-900000000000000000,"unit":"%","#
        ),
        ("HKQuantityTypeIdentifierOxygenSaturation", "%", "0.97", #""code":"2708-6""#),
        ("HKQuantityTypeIdentifierBodyFatPercentage", "%", "1e-05", #""value":1e-05,"unit":"1","#),
        (
            "HKQuantityTypeIdentifierBodyMassIndex", "count", "22.40",
            #""value":22.40,"unit":"count","system":"http://unitsofmeasure.org","code":"kg/m2""#
        ),
        ("HKQuantityTypeIdentifierBloodGlucose", "mg/dL", "90", #""code":"2339-0""#),
        (
            "HKQuantityTypeIdentifierBloodGlucose", "mmol<180.1558800000541>/L", "4.9",
            #""code":"15074-8""#
        ),
        (
            "HKQuantityTypeIdentifierBodyMass", "lb", "150",
            #""value":150,"unit":"lb","system":"http://unitsofmeasure.org","code":"[lb_av]"}"#
        ),
        ("HKQuantityTypeIdentifierNew", "sip", "3", #""valueQuantity":{"value":3,"unit":"sip"}"#),
        (
            "HKCategoryTypeIdentifierSleepAnalysis", "", "HKCategoryValueSleepAnalysisAwake",
            """
            "valueCodeableConcept":{"coding":[{\
            "system":"http://developer.apple.com/documentation/healthkit",\
            "code":"HKCategoryValueSleepAnalysisAwake"}]}
            """
        ),
        ("HKCategoryTypeIdentifierNew", "", "two \" words", #""valueString":"two \" words""#),
        ("HKCategoryTypeIdentifierNew", "", " ", #"03:09:05-05:00"}}"#),
    ])
    func `a value is written as what it is`(
        type: String, unit: String, value: String, wanted: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let record = """
            <Record type="\(type)" sourceName="App" unit="\(unit.replacing("<", with: "&lt;"))" \
            startDate="2026-01-02 03:04:05 -0500" endDate="2026-01-02 03:09:05 -0500" \
            value="\(value.replacing("\"", with: "&quot;"))"/>
            """.replacing(#"unit="" "#, with: "")

        let files = try await export([record], in: playground)

        let line = files["Observation.\(type).ndjson"]?.first ?? ""
        #expect(line.contains(wanted), "\(line)")
        #expect(
            line.contains(
                """
                "effectivePeriod":{"start":"2026-01-02T03:04:05-05:00",\
                "end":"2026-01-02T03:09:05-05:00"}
                """), "\(line)")
    }

    @Test func `a point of another source has the code of its type`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.folder.write(
            "one.json",
            Array(#"{"kind":"heart_rate","start":"2026-01-02T03:04:05Z","value":61}"#.utf8))
        let folder = "\(playground.folder.path)/records"
        _ = try await playground.run("import", "\(playground.folder.path)/one.json", "-q")

        _ = try await playground.run("export-data", "--out", folder, "--format", "fhir")

        let line = String(
            decoding: try TemporaryFolder.read("\(folder)/Observation.heart_rate.ndjson"),
            as: UTF8.self)
        #expect(
            line.contains(
                """
                "code":{"coding":[{"system":"http://loinc.org","code":"8867-4",\
                "display":"Heart rate"}],"text":"heart_rate"}
                """), "\(line)")
        #expect(line.contains(#""valueQuantity":{"value":61}}"#), "\(line)")
    }
}
