import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct FHIRServerTests {
    @Test(arguments: [("hapi", 1), ("medplum", 1), ("azure", 1), ("google", 2)])
    func `a PUT creates, and one that changes nothing is a version only as the manner has it`(
        _ manner: String, _ unchanged: Int
    ) throws {
        let fhir = try FHIRBench(manner)

        let first = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"))
        let again = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"))
        let changed = try fhir.send("PUT", "/fhir/Observation/a", .observation("a", bpm: 62))
        let history = try fhir.send("GET", "/fhir/Observation/a/_history")
        let former = try fhir.send("GET", "/fhir/Observation/a/_history/1")

        #expect(first.status == 201)
        #expect(first.header("ETag") == "W/\"1\"")
        #expect(first.header("Last-Modified") == "Fri, 15 Jan 2027 08:00:00 GMT")
        #expect(
            first.header("Location") == "http://localhost/fhir/Observation/a/_history/1")
        #expect(first.header("Content-Type") == "application/fhir+json; charset=utf-8")
        #expect(first.body["meta"]?["versionId"] == "1")
        #expect(again.status == 200)
        #expect(again.header("ETag") == "W/\"\(unchanged)\"")
        #expect(changed.header("ETag") == "W/\"\(unchanged + 1)\"")
        #expect(try history.body["entry"].elements.count == unchanged + 1)
        #expect(former.body["valueQuantity"]?["value"] == 61)
        #expect(try fhir.stored() == ["a/\(unchanged + 1)"])
    }

    @Test(arguments: [("hapi", 409), ("medplum", 412), ("azure", 412), ("google", 412)])
    func `an If-Match with another version changes nothing`(
        _ manner: String, _ status: Int
    ) throws {
        let fhir = try FHIRBench(manner)
        _ = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"))

        let other = try fhir.send(
            "PUT", "/fhir/Observation/a", .observation("a", bpm: 62), "If-Match: W/\"7\"")
        let same = try fhir.send(
            "PUT", "/fhir/Observation/a", .observation("a", bpm: 62), "If-Match: W/\"1\"")

        #expect(other.status == status)
        #expect(same.status == 200)
        #expect(try fhir.stored() == ["a/2"])
    }

    @Test(arguments: [
        ("hapi", "123", "123", 400), ("azure", "123", "123", 201),
        ("hapi", "a.b-C9", "a.b-C9", 201),
        ("azure", "a_b", "a_b", 400), ("azure", "a", "b", 400), ("azure", "a", nil, 400),
        ("azure", String(repeating: "a", count: 64), String(repeating: "a", count: 64), 201),
        ("azure", String(repeating: "a", count: 65), String(repeating: "a", count: 65), 400),
    ])
    func `an id has the form that FHIR and the manner want`(
        _ manner: String, _ url: String, _ id: String?, _ status: Int
    ) throws {
        let fhir = try FHIRBench(manner)

        let answer = try fhir.send("PUT", "/fhir/Observation/\(url)", .observation(id))

        #expect(answer.status == status)
        #expect(try fhir.stored().count == (status == 201 ? 1 : 0))
    }

    @Test(arguments: ["hapi", "medplum", "azure", "google"])
    func `the capability statement says what the manner does`(_ manner: String) throws {
        for switches in [[], ["update-create"], ["no-update-create"]] {
            let fhir = try FHIRBench(manner, switches + ["no-references"])

            let statement = try fhir.send("GET", "/fhir/metadata")
            let put = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"))

            let rest = try statement.body["rest"].elements[0]
            let observation = try #require(
                try rest["resource"].elements.first { $0["type"] == "Observation" })
            #expect(statement.body["fhirVersion"] == "4.0.1")
            #expect(observation["updateCreate"] == .bool(put.status == 201))
            #expect(put.status == 201 || put.status == 404)
            #expect(observation["conditionalCreate"] == true)
            #expect(try rest["interaction"].elements.contains(["code": "batch"]))
        }
        #expect(try FHIRBench("google", []).send("PUT", "/fhir/Patient/p", .patient).status == 404)
    }

    @Test func `a conditional create is 201, then 200 with what is stored, and 412 for several`()
        throws
    {
        let fhir = try FHIRBench("azure")
        let header = "If-None-Exist: identifier=urn:key|k"

        let first = try fhir.send("POST", "/fhir/Observation", .identified("k"), header)
        let second = try fhir.send("POST", "/fhir/Observation", .identified("k", bpm: 99), header)
        _ = try fhir.send("POST", "/fhir/Observation", .identified("k"))
        let third = try fhir.send("POST", "/fhir/Observation", .identified("k"), header)

        #expect([first.status, second.status, third.status] == [201, 200, 412])
        #expect(second.body["id"] == first.body["id"])
        #expect(second.body["valueQuantity"]?["value"] == 61)
        let record = try fhir.send("GET", "/_sandbox/fhir").body
        #expect(record["kept"]?["Observation"] == 2)
        #expect(
            record["duplicates"] == [
                ["type": "Observation", "identifier": "urn:key|k", "resources": 2]
            ])
    }

    @Test(arguments: [
        ("minimal", JSON?.none), ("representation", "Observation"),
        ("OperationOutcome", "OperationOutcome"),
    ])
    func `the client chooses what a write returns`(_ preference: String, _ type: JSON?) throws {
        let fhir = try FHIRBench("hapi")
        let prefer = "Prefer: return=\(preference)"

        let alone = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"), prefer)
        let bundle = try fhir.batch(JSON.puts("b"), prefer)

        #expect(alone.status == 201)
        #expect(alone.body["resourceType"] == type)
        let entry = try bundle.body["entry"].elements[0]
        #expect((entry["resource"] ?? entry["response"]?["outcome"])?["resourceType"] == type)
    }

    @Test(arguments: [
        ("_id=a,c,none", "a c"), ("_id=none", ""), ("identifier=urn:key%7Ck", "i"),
        ("identifier=k", "i"), ("identifier=urn:other%7Ck", ""), ("identifier=%7Ck", ""),
        ("code=http://loinc.org%7C8867-4", "a b c i"), ("code=8867-5", ""),
        ("date=ge2027-01-16", "b c"), ("date=lt2027-01-16", "a i"), ("date=2027-01-15", "a i"),
        ("date=ge2027-01-16&date=lt2027-01-17", "b"), ("date=gt2027-01", "c"),
        ("date=le2027-01-15T06:00:00Z", "a i"), ("patient=p", "a b c i"),
        ("subject=Patient/p", "a b c i"), ("patient=q", ""), ("status=final&_id=b", "b"),
    ])
    func `a search finds what meets all its parameters`(_ query: String, _ ids: String) throws {
        let fhir = try FHIRBench("azure")
        _ = try fhir.batch(JSON.puts("a"))
        for (id, day) in [("b", "2027-01-16"), ("c", "2027-02-01")] {
            let late = JSON.observation(id, at: day + "T07:00:00+01:00")
            _ = try fhir.send("PUT", "/fhir/Observation/\(id)", late)
        }
        _ = try fhir.send("PUT", "/fhir/Observation/i", JSON.identified("k").with("id", "i"))

        let page = try fhir.send("GET", "/fhir/Observation?\(query)&_elements=id")
        let count = try fhir.send("GET", "/fhir/Observation?\(query)&_summary=count")

        let found = (page.body["entry"]?.list ?? []).compactMap { $0["resource"] }
        #expect(found.compactMap { $0["id"]?.text }.joined(separator: " ") == ids)
        #expect(found.allSatisfy { $0["valueQuantity"] == nil && $0["status"] == "final" })
        #expect(page.body["total"] == .count(found.count))
        #expect(count.body["total"] == .count(found.count))
        #expect(count.body["entry"] == nil)
    }

    @Test func `pages lead to one another and have every match once`() throws {
        let fhir = try FHIRBench("hapi")
        _ = try fhir.batch(JSON.puts("a", "b", "c", "d", "e"))

        var url = "/fhir/Observation?code=http://loinc.org%7C8867-4&_count=2"
        var pages: [[String]] = []
        while pages.count < 9 {
            let page = try fhir.send("GET", url).body
            pages.append(
                try page["entry"].elements.compactMap { $0["resource"]?["id"]?.text })
            let next = try page["link"].elements.first { $0["relation"] == "next" }
            guard let next else { break }
            url = String(try next["url"].string.dropFirst("http://localhost".count))
        }

        #expect(pages == [["a", "b"], ["c", "d"], ["e"]])
        #expect(try fhir.send("GET", "/fhir/Observation?nonsense=1").status == 400)
        #expect(try fhir.send("GET", "/fhir/Observation?date=soon").status == 400)
    }

    @Test func `each entry of a batch has an answer of its own, and the record shows it`() throws {
        let fhir = try FHIRBench("hapi", ["references"])
        _ = try fhir.send("PUT", "/fhir/Patient/p", .patient)
        let stranger = JSON.observation("f").with("subject", ["reference": "Patient/nobody"])

        let answer = try fhir.batch(
            JSON.puts("a") + [
                .entry("PUT", "Observation/b", .observation("b", bpm: "61")),
                .entry("POST", "Observation", .identified("k"), ifNoneExist: "identifier=k"),
                .entry("POST", "Observation", .identified("k"), ifNoneExist: "identifier=k"),
                .entry("GET", "Observation?_summary=count"), .entry("DELETE", "Observation/a"),
                .entry("GET", "Observation/a"), .entry("PUT", "Observation/f", stranger),
                .entry("PATCH", "Observation/a"), .entry("PUT", "Medication/m", .patient), [:],
            ])
        let requests = try fhir.send("GET", "/_sandbox/fhir/requests").body["requests"].elements

        let statuses = [
            "201", "422", "201", "200", "200", "204", "410", "400", "405", "404", "400",
        ]
        #expect(answer.status == 200)
        #expect(answer.body["type"] == "batch-response")
        #expect(answer.statuses == statuses)
        let first = try answer.body["entry"].elements[0]["response"]
        #expect(first?["status"] == "201 Created")
        #expect(first?["etag"] == "W/\"1\"")
        #expect(first?["location"] == "Observation/a/_history/1")
        #expect(first?["lastModified"] == .time(Bench.start))
        let second = try answer.body["entry"].elements[1]["response"]?["outcome"]
        #expect(
            try second?["issue"].elements[0]["diagnostics"]
                == "Invalid value \"61\" for element 'Observation.valueQuantity.value'")
        #expect(requests[1]["answer"] == "200")
        let entries = try requests[1]["entries"].elements
        #expect(try entries.map { try $0["answer"].string } == statuses)
        #expect(
            entries[0]
                == [
                    "method": "PUT", "url": "Observation/a", "answer": "201",
                    "version": "Observation/a/_history/1",
                ])
    }

    @Test func `a transaction stores all or nothing, and knows its own references`() throws {
        let fhir = try FHIRBench("google", ["references", "update-create"])
        let patient = JSON.entry("POST", "Patient", .patient).with("fullUrl", "urn:uuid:1")
        let own = JSON.observation("a").with("subject", ["reference": "urn:uuid:1"])
        let faulty = JSON.entry("PUT", "Observation/b", .observation("b"))

        let refused = try fhir.batch(
            [.entry("PUT", "Observation/a", own), patient, faulty], type: "transaction")
        let none = try fhir.stored()
        let done = try fhir.batch(
            [.entry("PUT", "Observation/a", own), patient], type: "transaction")
        let twice = try fhir.batch(JSON.puts("c", "c"), type: "transaction")

        #expect(refused.status == 404)
        #expect(refused.expressions == ["Observation.subject"])
        #expect(none.isEmpty)
        #expect(done.statuses == ["201", "201"])
        let entries = try done.body["entry"].elements
        let id = try entries[1]["resource"]?["id"].string ?? ""
        #expect(entries[0]["resource"]?["subject"]?["reference"] == .string("Patient/\(id)"))
        #expect(twice.status == 400)
        #expect(try fhir.stored().count == 2)
    }

    private static let flaws: [(String, JSON?, String)] = [
        ("status", nil, "Observation.status"), ("status", "done", "Observation.status"),
        ("code", nil, "Observation.code"),
        ("code", ["coding": [["code": "a b"]]], "Observation.code.coding.code"),
        ("valueQuantity", ["value": "61"], "Observation.valueQuantity.value"),
        ("valueQuantity", ["value": 61, "code": "/min"], "Observation.valueQuantity"),
        ("valueString", "much", "Observation.value"),
        ("effectiveDateTime", "yesterday", "Observation.effectiveDateTime"),
        ("effectiveDateTime", "2027-02-30", "Observation.effectiveDateTime"),
        ("effectiveDateTime", "2027-01-15T07:00:00", "Observation.effectiveDateTime"),
        ("subject", ["reference": "Device/"], "Observation.subject.reference"),
        ("device", ["reference": "Patient/p"], "Observation.device.reference"),
        ("performer", [["reference": "Device/d"]], "Observation.performer.reference"),
        ("category", [], "Observation.category"), ("bpm", 61, "Observation.bpm"),
        (
            "component", [["code": ["text": "x"], "valueQuantity": [:]]],
            "Observation.component.valueQuantity"
        ),
    ]

    @Test(arguments: flaws)
    func `a flaw of an Observation is named with its place`(
        _ name: String, _ value: JSON?, _ place: String
    ) throws {
        for (manner, status) in [("hapi", 422), ("azure", 400)] {
            let fhir = try FHIRBench(manner)

            let answer = try fhir.send(
                "PUT", "/fhir/Observation/a", JSON.observation("a").with(name, value))

            #expect(answer.status == status)
            #expect(answer.expressions.contains(place), "\(answer.text)")
            #expect(try fhir.stored().isEmpty)
        }
    }

    @Test(arguments: [("hapi", 400), ("google", 404), ("medplum", 201), ("azure", 201)])
    func `a subject must exist where the manner checks it`(
        _ manner: String, _ status: Int
    ) throws {
        let fhir = try FHIRBench(manner, ["update-create"])
        let checks = status != 201

        let early = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"))
        _ = try fhir.send("PUT", "/fhir/Patient/p", .patient)
        let late = try fhir.send("PUT", "/fhir/Observation/a", .observation("a"))
        let deleted = try fhir.send("DELETE", "/fhir/Patient/p")
        let read = try fhir.send("GET", "/fhir/Patient/p")

        #expect(early.status == status)
        #expect(late.status == (checks ? 201 : 200))
        #expect(deleted.status == (checks ? 409 : 204))
        #expect(read.status == (checks ? 200 : 410))
        #expect(early.diagnostics.contains(checks ? "Patient/p" : ""))
    }

    @Test func `Azure takes 500 entries, and the others more`() throws {
        let entries = (0...500).map { number in
            JSON.entry("PUT", "Observation/o\(number)", .observation("o\(number)"))
        }

        let azure = try FHIRBench("azure")
        let tooMany = try azure.batch(entries)
        let most = try azure.batch(Array(entries.dropLast()))
        let hapi = try FHIRBench("hapi").batch(entries)

        #expect(tooMany.status == 413)
        #expect(most.statuses == [String](repeating: "201", count: 500))
        #expect(hapi.statuses.count == 501)
        #expect(try azure.send("GET", "/_sandbox/fhir").body["kept"]?["Observation"] == 500)
    }

    @Test(arguments: [("google", 10_000_000), ("medplum", 1 << 20)])
    func `a resource and a bundle have their limits in bytes`(
        _ manner: String, _ most: Int
    ) throws {
        let fhir = try FHIRBench(
            manner, ["bundle-bytes=12000000", "no-references", "update-create"])
        let long = JSON.observation("a").with(
            "note", [["text": .string(String(repeating: "x", count: most))]])
        let spaces = [UInt8](repeating: 0x20, count: 12_000_001)

        #expect(try fhir.send("PUT", "/fhir/Observation/a", long).status == 413)
        #expect(try fhir.batch([.entry("PUT", "Observation/a", long)]).statuses == ["413"])
        #expect(try fhir.send("POST", "/fhir", bytes: spaces).status == 413)
        #expect(FHIRManner.all.first { $0.name == "google" }?.requestBytes == 50_000_000)
    }

    @Test func `what is no FHIR in JSON is refused`() throws {
        let fhir = try FHIRBench("azure")
        let body = JSON.observation("a")
        let path = "/fhir/Observation/a"

        #expect(try fhir.send("PUT", path, bytes: Array("{\"a\":".utf8)).status == 400)
        #expect(try fhir.send("PUT", path, body, type: "application/fhir+xml").status == 415)
        #expect(try fhir.send("PUT", path, body, "Content-Encoding: gzip").status == 415)
        #expect(try fhir.send("PUT", path, body, type: "application/json").status == 201)
        #expect(try fhir.send("PUT", "/fhir/Device/a", body).status == 400)
        #expect(try fhir.send("POST", "/fhir", body).status == 400)
        #expect(try fhir.send("GET", "/fhir/Medication/a").status == 404)
        #expect(try fhir.send("GET", "/_sandbox/nothing").status == 404)
    }
}

extension JSON {
    fileprivate static let patient: JSON = ["resourceType": "Patient", "id": "p"]
}
