import ClarityTestSupport
import Database
import Foundation
import Glibc
@testable import ProgramTestSupport
import Testing

/// Everything that a source can have comes back from the archive, in each format.
///
/// Texts of the sources below that begin with `t-`, numbers with four decimals and dates are all of
/// a kind, so that each of them is looked for in what is given back.
@Suite("Everything given back", .timeLimit(.minutes(5)))
struct EverythingProgramTests {
    private static func dates(_ day: Int, creation: Bool = true) -> String {
        (creation ? "creationDate='2026-01-\(day) 07:0\(day % 10):03 +0100' " : "")
            + "startDate='2026-01-\(day) 07:0\(day % 10):01 +0100' "
            + "endDate='2026-01-\(day) 07:0\(day % 10):02 +0100'"
    }

    /// An export with each element that its document type declares, and some that nobody knows.
    private static let xml = """
        <?xml version="1.0" encoding="UTF-8"?>
        <HealthData locale="t-locale">
        <ExportDate value="2026-02-01 09:00:00 +0100"/>
        <Me HKCharacteristicTypeIdentifierDateOfBirth="t-birth"
          HKCharacteristicTypeIdentifierBiologicalSex="t-sex"
          HKCharacteristicTypeIdentifierBloodType="t-blood"
          HKCharacteristicTypeIdentifierFitzpatrickSkinType="t-skin"
          HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse="t-use"/>
        <Record type="HKQuantityTypeIdentifierHeartRateVariabilitySDNN" sourceName="t-source1"
          sourceVersion="t-version1" device="t-device1" unit="ms" value="51.0101" t-new="t-new1"
          \(dates(11))>
          <MetadataEntry key="t-key1" value="t-value1"/>
          <HeartRateVariabilityMetadataList>
            <InstantaneousBeatsPerMinute bpm="62.0101" time="7:01:01.10 AM"/>
          </HeartRateVariabilityMetadataList>
          <NewPart name="t-part1"/>
        </Record>
        <Record type="HKTypeThatNobodyKnows" sourceName="t-source2" value="t-value2" \(dates(12))/>
        <Record type="HKCategoryTypeIdentifierMenstrualFlow" sourceName="t-source3"
          value="t-flow" \(dates(13))><MetadataEntry key="HKMenstrualCycleStart" value="t-start"/>
        </Record>
        <Record type="HKCategoryTypeIdentifierHeadache" sourceName="t-source4"
          value="HKCategoryValueSeverityt-severe" \(dates(14))/>
        <Record type="HKQuantityTypeIdentifierBloodPressureSystolic" sourceName="t-source5"
          unit="mmHg" value="121.0202" \(dates(15))/>
        <Record type="HKQuantityTypeIdentifierBloodPressureDiastolic" sourceName="t-source5"
          unit="mmHg" value="81.0202" \(dates(15))/>
        <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="t-source6"
          sourceVersion="t-version6" device="t-device6" \(dates(15))>
          <MetadataEntry key="t-key6" value="t-value6"/>
          <Record type="HKQuantityTypeIdentifierBloodPressureSystolic" sourceName="t-source5"
            unit="mmHg" value="121.0202" \(dates(15))/>
          <Record type="HKQuantityTypeIdentifierBloodPressureDiastolic" sourceName="t-source5"
            unit="mmHg" value="81.0202" \(dates(15))/>
        </Correlation>
        <Workout workoutActivityType="HKWorkoutActivityTypet-run" duration="31.0303"
          durationUnit="min" totalDistance="5.0303" totalDistanceUnit="km"
          totalEnergyBurned="301.0303" totalEnergyBurnedUnit="kcal" sourceName="t-source7"
          sourceVersion="t-version7" device="t-device7" \(dates(16))>
          <MetadataEntry key="t-key7" value="t-value7"/>
          <WorkoutActivity uuid="t-uuid" startDate="2026-01-16 07:10:00 +0100"
            endDate="2026-01-16 07:11:00 +0100" duration="1.0303" durationUnit="min">
            <MetadataEntry key="t-key8" value="t-value8"/>
          </WorkoutActivity>
          <WorkoutEvent type="t-event" date="2026-01-16 07:12:00 +0100" duration="2.0303"
            durationUnit="min"><MetadataEntry key="t-key9" value="t-value9"/></WorkoutEvent>
          <WorkoutStatistics type="t-statistics" startDate="2026-01-16 07:13:00 +0100"
            endDate="2026-01-16 07:14:00 +0100" average="3.0303" minimum="2.0404"
            maximum="4.0404" sum="9.0404" unit="t-unit"/>
          <WorkoutRoute sourceName="t-source10" sourceVersion="t-version10" device="t-device10"
            creationDate="2026-01-16 07:15:00 +0100" startDate="2026-01-16 07:16:00 +0100"
            endDate="2026-01-16 07:17:00 +0100">
            <MetadataEntry key="t-key10" value="t-value10"/>
            <FileReference path="/workout-routes/t-route.gpx"/>
          </WorkoutRoute>
        </Workout>
        <ActivitySummary dateComponents="2026-01-17" activeEnergyBurned="401.0505"
          activeEnergyBurnedGoal="402.0505" activeEnergyBurnedUnit="Cal" appleMoveTime="11.0505"
          appleMoveTimeGoal="12.0505" appleExerciseTime="13.0505" appleExerciseTimeGoal="14.0505"
          appleStandHours="15.0505" appleStandHoursGoal="16.0505"/>
        <ClinicalRecord type="t-condition" identifier="t-id" sourceName="t-clinic"
          sourceURL="t-url" fhirVersion="t-fhir" receivedDate="2026-01-18 07:08:00 +0100"
          resourceFilePath="/clinical-records/t-one.json"/>
        <Audiogram type="HKDataTypeIdentifierAudiogram" sourceName="t-source11"
          sourceVersion="t-version11" device="t-device11" \(dates(19))>
          <MetadataEntry key="t-key11" value="t-value11"/>
          <SensitivityPoint frequencyValue="1000.0606" frequencyUnit="Hz" leftEarValue="10.0606"
            leftEarUnit="dBHL" rightEarValue="15.0606" rightEarUnit="dBHL"/>
        </Audiogram>
        <VisionPrescription type="t-glasses" dateIssued="2026-01-20" expirationDate="2028-01-20"
          brand="t-brand">
          <RightEye sphere="-1.0707" sphereUnit="D" cylinder="-0.0707" cylinderUnit="D"
            axis="90.0707" axisUnit="deg" add="2.0707" addUnit="D" vertex="12.0707"
            vertexUnit="mm" prismAmount="3.0707" prismAmountUnit="D" prismAngle="45.0707"
            prismAngleUnit="deg" farPD="31.0707" farPDUnit="mm" nearPD="30.0707"
            nearPDUnit="mm" baseCurve="8.0707" baseCurveUnit="mm" diameter="14.0707"
            diameterUnit="mm"><Prism amount="1.0808"/></RightEye>
          <LeftEye sphere="-1.0808"/>
          <Attachment identifier="t-attachment"/>
          <MetadataEntry key="t-key12" value="t-value12"/>
        </VisionPrescription>
        <StateOfMind kind="t-mood" valence="-0.0909" \(dates(21))>
          <Label name="t-label"/><MetadataEntry key="t-key13" value="t-value13"/>
        </StateOfMind>
        <MedicationDoseEvent name="t-drug" logStatus="t-skipped"
          scheduledDate="2026-01-22 07:02:00 +0100"/>
        <MedicationDoseEvent name="t-drug" logStatus="t-taken"
          scheduledDate="2026-01-23 07:02:00 +0100"/>
        <Medication name="t-listed"/>
        </HealthData>
        """

    private static let resource = """
        {
          "resourceType" : "Condition", "t-resource": "\\u00e9 t-resource1 \\\"",
          "weight": 1.50
        }

        """
    private static let cda = "<?xml version='1.0'?>\n<ClinicalDocument>t-cda</ClinicalDocument>\n"

    /// The files beside it, by their names.
    private static let files = [
        "export.xml": xml, "export_cda.xml": cda, "clinical-records/t-one.json": resource,
        "electrocardiograms/ecg.csv": """
        Name,t-person
        Date of Birth,t-born
        Recorded Date,2026-01-24 07:30:00 +0100
        Classification,t-rhythm
        Symptoms,t-symptom
        Software Version,t-software
        Device,"t-watch,1"
        Sample Rate,512.1111 hertz

        Lead,t-lead
        Unit,µV

        -265.1212
        12.1212
        """,
        "workout-routes/t-route.gpx": """
        <gpx><trk><trkseg><trkpt lon="13.1313" lat="52.1313"><ele>34.1313</ele>
        <time>2026-01-16T06:16:30Z</time><extensions><speed>2.1313</speed>
        <course>91.1313</course><hAcc>3.1313</hAcc><vAcc>2.1414</vAcc></extensions></trkpt>
        </trkseg></trk></gpx>
        """,
    ]

    /// A file of Health Auto Export with each section.
    private static let json = """
        {"data":{
         "metrics":[
          {"name":"heart_rate","units":"count/min","data":[
            {"date":"2026-01-25 07:30:00 +0100","Min":61.1515,"Avg":62.1515,"Max":63.1515,
             "source":"t-source20"}]},
          {"name":"insulin_delivery","units":"IU","data":[
            {"date":"2026-01-25 07:31:00 +0100","qty":4.1515,"reason":"t-bolus"}]}],
         "workouts":[{"id":"t-workout","name":"t-running","start":"2026-01-25 07:32:00 +0100",
           "end":"2026-01-25 07:33:00 +0100","duration":60.1616,
           "distance":{"qty":5.1616,"units":"km"},
           "heartRateData":[{"date":"2026-01-25 07:32:30 +0100","Avg":120.1616,"units":"bpm"}],
           "route":[{"latitude":52.1717,"longitude":13.1717,"altitude":34.1717,
             "timestamp":"2026-01-25 07:32:20 +0100","speed":2.1717}],
           "metadata":{"t-key20":"t-value20"}}],
         "ecg":[{"start":"2026-01-25 07:34:00 +0100","end":"2026-01-25 07:34:30 +0100",
           "classification":"t-sinus","severity":"t-none","averageHeartRate":64.1818,
           "numberOfVoltageMeasurements":2,"samplingFrequency":513.1818,"source":"t-source21",
           "voltageMeasurements":[
            {"date":"2026-01-25 07:34:00 +0100","voltage":-0.1919,"units":"mcV"},
            {"date":"2026-01-25 07:34:00 +0100","voltage":0.1818,"units":"mcV"}]}],
         "symptoms":[{"start":"2026-01-25 07:35:00 +0100","end":"2026-01-25 07:36:00 +0100",
           "name":"t-headache","severity":"t-mild","userEntered":true,"source":"t-source22"}],
         "medications":[{"displayText":"t-tablet","start":"2026-01-25 07:37:00 +0100",
           "scheduledDate":"2026-01-25 07:38:00 +0100","form":"t-form","status":"Skipped",
           "isArchived":false,"dosage":1.2121,"codings":[{"code":"t-code","system":"t-system"}]}],
         "stateOfMind":[{"id":"t-mind","start":"2026-01-25T06:39:00Z","end":"2026-01-25T06:39:00Z",
           "kind":"t-daily","labels":["t-calm"],"associations":["t-work"],"valence":0.2121}],
         "heartRateNotifications":[{"start":1769323200,"end":1769323260,"threshold":120.2222,
           "heartRate":[{"hr":130.2222,"units":"bpm","timestamp":{"start":"t-when"}}],
           "heartRateVariation":[{"hrv":40.2222,"units":"ms"}]}],
         "cycleTracking":[{"start":"2026-01-25 07:41:00 +0100","name":"t-flow2","value":"t-light"}],
         "newSection":{"date":"2026-01-25 07:42:00 +0100","what":"t-section"}}}
        """

    /// Returns a playground without a backend that has read all of it twice, and what the second
    /// reading said of the export.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        let folder = "\(playground.folder.path)/everything"
        for name in ["", "/clinical-records", "/electrocardiograms", "/workout-routes"] {
            mkdir("\(folder)\(name)", 0o700)
        }
        for (name, text) in Self.files {
            try playground.folder.write("everything/\(name)", Array(text.utf8))
        }
        try playground.folder.write("auto.json", Array(Self.json.utf8))
        for name in ["everything", "auto.json", "everything", "auto.json"] {
            let result = try await playground.run(
                "import", "\(playground.folder.path)/\(name)", "-q", environment: ["TZ": "UTC"])
            #expect(result.status == 0, "\(result.errors)")
        }
        return playground
    }

    /// Returns what the files of a folder have, or the rows of a database.
    private func given(_ playground: Playground, _ format: String) async throws -> [String: String]
    {
        let path = "\(playground.folder.path)/\(format)"
        let result = try await playground.run("export-data", "--out", path, "--format", format)
        #expect(result.status == 0, "\(result.errors)")
        guard format == "sqlite" else {
            var files: [String: String] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                files[name] = String(
                    decoding: try TemporaryFolder.read("\(path)/\(name)"), as: UTF8.self)
            }
            return files
        }
        let database = try FileConnection(path: path, access: .immutable)
        let rows = try database.all(#"SELECT * FROM "all records""#) { row in
            (0..<11).map { row.optionalText($0) ?? "" }.joined(separator: "|")
        }
        return ["all records": rows.joined(separator: "\n")]
    }

    private func found(_ pattern: Regex<Substring>, in text: String) -> Set<String> {
        Set(text.matches(of: pattern).map { String($0.output) })
    }

    @Test func `every text, number and date of the sources is in what is given back`()
        async throws
    {
        let playground = try await playground()
        let sources = Self.files.values.joined() + Self.json
        // The words of the sources that are names and no contents.
        let texts = found(/t-[a-z]+[0-9]*/, in: sources)
        let numbers = found(/[0-9]+\.[0-9]{4}/, in: sources)
        let dates = found(/2026-[0-9-]{5} [0-9:]{8} \+0100/, in: sources)
        #expect(texts.count > 90 && numbers.count > 60 && dates.count > 40)

        for format in ["csv", "sqlite", "fhir"] {
            var files = try await given(playground, format)
            if let document = files.removeValue(
                forKey: "DocumentReference.ClinicalDocument.ndjson")
            {
                let data = try #require(document.firstMatch(of: /"data":"([^"]*)"/)?.1)
                let text = try #require(Data(base64Encoded: String(data)))
                files["cda"] = String(decoding: text, as: UTF8.self)
                #expect(files["cda"] == Self.cda)
            }
            let given = files.values.joined(separator: "\n")

            let lost = texts.union(numbers).filter { !given.contains($0) }.sorted()
            #expect(lost == [], "\(format)")
            let lostDates = dates.filter { date in
                let (day, time) = (date.prefix(10), date.dropFirst(11).prefix(8))
                let hour = Int(time.prefix(2)).map { $0 - 1 } ?? 0
                return !given.contains(date) && !given.contains("\(day)T\(time)+01:00")
                    && !given.contains("\(day)T0\(hour)\(time.dropFirst(2))Z")
                    && !given.contains("\(day)T0\(hour)\(time.dropFirst(2))+00:00")
            }
            #expect(lostDates == [], "\(format)")
        }
    }

    @Test func `each format has every record once, although the sources were read twice`()
        async throws
    {
        let playground = try await playground()

        let csv = try await given(playground, "csv")
        let rows = csv.mapValues { $0.matches(of: /\r\n/).count - 1 }
        let fhir = try await given(playground, "fhir").filter { $0.key != "Device.ndjson" }
            .values.joined()
        let sqlite = try await given(playground, "sqlite").values.joined()

        // 17 elements, a series of beats and 4 files of an export; 10 elements of the app.
        #expect(rows.values.reduce(0, +) == 32, "\(rows)")
        #expect(fhir.split(separator: "\n").count == 32)
        #expect(sqlite.split(separator: "\n").count == 32)
        #expect(rows["MedicationDoseEvent.csv"] == 2)
    }

    @Test func `a curve is SampledData, a clinic's resource is as it came, a skipped dose says so`()
        async throws
    {
        let playground = try await playground()

        let files = try await given(playground, "fhir")

        let ecg = try #require(files["Observation.HKDataTypeIdentifierElectrocardiogram.ndjson"])
        #expect(
            ecg.contains(
                #""valueSampledData":{"origin":{"value":0,"unit":"µV","#
                    + #""system":"http://unitsofmeasure.org","code":"uV"},"period":1.95270"#))
        #expect(ecg.contains(#","dimensions":1,"data":"-265.1212 12.1212"}"#))
        #expect(ecg.contains(#"{"code":{"text":"Classification"},"valueString":"t-rhythm"}"#))
        let app = try #require(files["Observation.ecg.ndjson"])
        #expect(app.contains(#""unit":"mcV","system":"http://unitsofmeasure.org","code":"uV"}"#))
        #expect(app.contains(#""period":1.94862"#) && app.contains(#""data":"-0.1919 0.1818"}"#))
        #expect(!app.contains("voltageMeasurements"))
        #expect(
            files["ClinicalRecordFile.ndjson"] == Self.resource.replacing("\n", with: "") + "\n")
        let dose = try #require(files["Observation.medications.ndjson"])
        #expect(dose.contains(#""valueString":"Skipped","component":"#))
    }

    /// The Python that `scripts/setup test` gives the classes of FHIR.
    private static let python = "\(Playground.root)/.build/fhir/bin/python"

    /// Validates every line but the clinic's own.
    private static let validation = """
        import glob, json, sys
        from fhir.resources.R4B import get_fhir_model_class
        count = 0
        for path in glob.glob(sys.argv[1] + '/*.ndjson'):
            if path.endswith('/ClinicalRecordFile.ndjson'): continue
            for line in open(path, encoding='utf-8'):
                get_fhir_model_class(json.loads(line)['resourceType']).model_validate_json(line)
                count += 1
        print(count)
        """

    @Test(
        .enabled(
            if: access(python, X_OK) == 0, "needs fhir.resources; `scripts/setup test` installs it")
    )
    func `everything is valid FHIR`() async throws {
        let playground = try await playground()
        let devices = try await given(playground, "fhir")["Device.ndjson"] ?? ""

        let python = try ChildProgram(
            Self.python, ["-c", Self.validation, "\(playground.folder.path)/fhir"],
            environment: ["PATH": "/usr/bin:/bin"])
        let found = await python.finish()

        let count = 31 + devices.split(separator: "\n").count
        #expect(found.output == "\(count)\n" && count > 40, "\(found.errors)")
    }

    @Test func `the table of the page about sources names every element, and what it becomes`()
        async throws
    {
        let page = String(
            decoding: try TemporaryFolder.read("\(Playground.root)/docs/sources.md"), as: UTF8.self)
        let table = try #require(
            page.split(separator: "### Every element of an export").last?
                .split(separator: "\n### ").first)
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .map { $0.split(separator: "|").map(String.init) }
        func names(_ cell: String) -> Set<String> {
            Set(cell.matches(of: /`([^`]*)`/).map { String($0.1) })
        }
        let elements = rows.reduce(into: Set<String>()) { $0.formUnion(names($1[0])) }
        let unknown: Set = [
            "NewPart", "Prism", "StateOfMind", "Label", "MedicationDoseEvent", "Medication",
        ]
        let declared = Set(Self.xml.matches(of: /<([A-Z][A-Za-z]*)/).map { String($0.1) })
            .subtracting(unknown)
        let files: Set = [
            "workout-routes/*.gpx", "electrocardiograms/*.csv", "clinical-records/*.json",
            "export_cda.xml",
        ]

        let types = Set(
            try await given(playground(), "csv").keys.map { $0.replacing(".csv", with: "") })

        #expect(elements == declared.union(files))
        #expect(table.contains("\n| any other element |"))
        for row in rows {
            let becomes = names(row[1])
            #expect(becomes.isSubset(of: types), "\(row[0])")
            #expect(
                !becomes.isEmpty || row[1].contains("its own type")
                    || row[1].contains("its element"))
        }
        #expect(unknown.subtracting(["NewPart", "Prism", "Label"]).isSubset(of: types))
    }
}
