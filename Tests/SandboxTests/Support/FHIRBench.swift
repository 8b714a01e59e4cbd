import HTTPServing
import JSON
import Platform
import Testing

@testable import clarity_jobs_sandbox

/// A FHIR server on a free port, which is asked by plain HTTP.
struct FHIRBench {
    let bench: Bench
    let server: HTTPServer

    /// An answer as it came over the socket.
    struct Answer {
        var status: Int
        var head: String
        var body: JSON
        var text: String

        func header(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }
                .map { String($0.dropFirst(name.count + 2)) }
        }

        /// The status of each entry, without its reason.
        var statuses: [String] {
            (body["entry"]?.list ?? []).map { entry in
                String((entry["response"]?["status"]?.text ?? "").prefix(3))
            }
        }

        /// What the first issue of an OperationOutcome says.
        var diagnostics: String { body["issue"]?.list.first?["diagnostics"]?.text ?? "" }
        var expressions: [String] {
            (body["issue"]?.list ?? []).flatMap { $0["expression"]?.texts ?? [] }
        }
    }

    init(
        _ manner: String, _ switches: [String] = ["no-references", "update-create"],
        faults: [String] = [], login: String = "none", scope: String? = nil
    ) throws {
        var options = FHIROptions(manner: try #require(FHIRManner.all.first { $0.name == manner }))
        for word in switches { try options.take(word) }
        options.login = try #require(FHIRLogin.Method(login))
        options.scope = scope ?? options.scope
        bench = try Bench(faults: faults, isClockSet: true, fhir: options)
        // From here on, only the server's thread may use the service.
        server = try #require(
            HTTPServer(bench.service, try Listener(ListenAddress(host: 0x7F00_0001, port: 0))))
    }

    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, _ headers: String...,
        bytes: [UInt8]? = nil, type: String = "application/fhir+json"
    ) throws -> Answer {
        let client = try RawClient(port: server.address.port)
        client.send(
            method, path, bytes ?? body?.bytes ?? [], headers: ["Content-Type: \(type)"] + headers)
        let answer = client.receiveAnswer()
        let text = String(decoding: answer.body, as: UTF8.self)
        let parsed = Result { try JSONParser.parse(answer.body) }
        guard case .success(let json) = parsed else {
            return Answer(status: answer.status, head: answer.head, body: .null, text: text)
        }
        return Answer(status: answer.status, head: answer.head, body: json, text: text)
    }

    func batch(_ entries: [JSON], type: String = "batch", _ headers: String...) throws -> Answer {
        let bundle: JSON = [
            "resourceType": "Bundle", "type": .string(type), "entry": .array(entries),
        ]
        return try send("POST", "/fhir", bundle, headers.first ?? "X-None: 1")
    }

    func post(_ text: String, to path: String) throws {
        #expect(try send("POST", path, bytes: Array(text.utf8)).status == 200)
    }

    /// What the server's own record has of the resources: each as `id/versions`.
    func stored() throws -> [String] {
        let found = try send("GET", "/_sandbox/fhir/resources").body["resources"].elements
        return try found.filter { $0["deleted"] == false }
            .map { "\(try $0["id"].string)/\($0["versions"]?.line ?? "")" }
    }
}

extension JSON {
    static func observation(
        _ id: String?, bpm: JSON = 61, at time: String = "2027-01-15T07:00:00+01:00"
    ) -> JSON {
        let observation: JSON = [
            "resourceType": "Observation", "status": "final",
            "code": ["coding": [["system": "http://loinc.org", "code": "8867-4"]]],
            "subject": ["reference": "Patient/p"], "effectiveDateTime": .string(time),
            "valueQuantity": [
                "value": bpm, "unit": "/min", "system": "http://unitsofmeasure.org",
                "code": "/min",
            ],
        ]
        return observation.with("id", id.map { .string($0) })
    }

    static func identified(_ value: String, bpm: JSON = 61) -> JSON {
        observation(nil, bpm: bpm).with(
            "identifier", [["system": "urn:key", "value": .string(value)]])
    }

    static func entry(
        _ method: String, _ url: String, _ resource: JSON? = nil, ifNoneExist: String? = nil
    ) -> JSON {
        let request: JSON = ["method": .string(method), "url": .string(url)]
        let whole = request.with("ifNoneExist", ifNoneExist.map { .string($0) })
        return JSON.object([]).with("request", whole).with("resource", resource)
    }

    static func puts(_ ids: String...) -> [JSON] {
        ids.map { .entry("PUT", "Observation/\($0)", .observation($0)) }
    }
}
