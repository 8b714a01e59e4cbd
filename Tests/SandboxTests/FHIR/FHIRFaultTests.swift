import Glibc
import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct FHIRFaultTests {
    @Test(arguments: [
        ("429", "201 429 201", "a/1 c/1"), ("412", "201 412 201", "a/1 c/1"),
        ("413", "201 413 201", "a/1 c/1"), ("409", "201 409 201", "a/1 c/1"),
        ("503 retry-after=3", "201 503 201", "a/1 c/1"), ("200", "201 200 201", "a/1 c/1"),
        ("stored=500", "201 500 201", "a/1 b/1 c/1"), ("lose", "201 201 201", "a/1 c/1"),
        ("empty", "201 201 201", "b/1 c/1"), ("expire", "201 401 401", "a/1"),
        ("outage", "201 503 201", "a/1 c/1"), ("bloat", "201 400 201", "a/1 c/1"),
        ("drop", "", "a/1 b/1 c/1"), ("reset", "", "a/1"), ("truncate", "", "a/1 b/1 c/1"),
        ("garbage", "", "a/1 b/1 c/1"), ("pass", "201 201 201", "a/1 b/1 c/1"),
    ])
    func `a fault meets one entry of a bundle`(
        _ fault: String, _ statuses: String, _ stored: String
    ) throws {
        let fhir = try FHIRBench("hapi", faults: ["PUT /Observation/b: \(fault)"])

        let answer = try fhir.batch(JSON.puts("a", "b", "c"))

        #expect(answer.statuses.joined(separator: " ") == statuses)
        #expect(try fhir.stored().joined(separator: " ") == stored)
        if fault == "garbage" { #expect(answer.text.hasPrefix("<!DOCTYPE html>")) }
        if fault == "bloat" { #expect(answer.text.utf8.count > 4_000_000) }
        if fault == "503 retry-after=3" { #expect(answer.header("Retry-After") == "3") }
    }

    @Test(arguments: [
        ("drop", 0, "a/1 b/1"), ("reset", 0, ""), ("truncate", 0, "a/1 b/1"),
        ("garbage", 200, ""), ("lose", 200, ""), ("bloat", 400, ""), ("413", 413, ""),
        ("expire", 401, ""), ("outage", 503, ""), ("stored=503", 503, "a/1 b/1"),
        ("429 retry-after=2", 429, ""), ("latency=1ms", 200, "a/1 b/1"), ("200", 200, ""),
    ])
    func `a fault meets a whole bundle`(
        _ fault: String, _ status: Int, _ stored: String
    ) throws {
        let fhir = try FHIRBench("hapi", faults: ["POST /: \(fault)"])

        let answer = try fhir.batch(JSON.puts("a", "b"))
        let kept = try fhir.stored().joined(separator: " ")
        let next = try fhir.batch(JSON.puts("a", "b"))

        #expect(answer.status == status)
        #expect(kept == stored)
        #expect(next.statuses == [String](repeating: kept.isEmpty ? "201" : "200", count: 2))
        #expect(try fhir.stored() == ["a/1", "b/1"])
        if fault == "429 retry-after=2" { #expect(answer.header("Retry-After") == "2") }
        if fault == "lose" { #expect(answer.statuses == ["201", "201"]) }
        if status == 413 || status == 429 {
            #expect(answer.body["resourceType"] == "OperationOutcome")
        }
    }

    @Test func `after a 429 Azure refuses all later entries, and says when to come again`() throws {
        let fault = "PUT /Observation/*: pass, 429"
        let azure = try FHIRBench("azure", faults: [fault])
        let medplum = try FHIRBench("medplum", faults: [fault])

        let rest = try azure.batch(JSON.puts("a", "b", "c", "d"))
        let one = try medplum.batch(JSON.puts("a", "b", "c", "d"))
        let again = try azure.batch(JSON.puts("a", "b", "c", "d"))

        #expect(rest.statuses == ["201", "429", "429", "429"])
        #expect(rest.header("Retry-After") == "1")
        #expect(one.statuses == ["201", "429", "201", "201"])
        #expect(one.header("Retry-After") == nil)
        #expect(again.statuses == ["200", "201", "201", "201"])
        // Azure writes the number alone, HAPI a reason after it.
        #expect(try rest.body["entry"].elements[0]["response"]?["status"] == "201")
    }

    @Test func `a rate refuses what comes too fast, until the next second`() throws {
        let fhir = try FHIRBench("azure", ["rate=2"])

        let first = try fhir.batch(JSON.puts("a", "b", "c"))
        let alone = try fhir.send("GET", "/fhir/Observation/a")
        try fhir.post((Bench.start + .seconds(1)).description, to: "/_sandbox/clock")
        let later = try fhir.batch(JSON.puts("c"))

        #expect(first.statuses == ["201", "201", "429"])
        #expect(alone.status == 429)
        #expect(alone.header("Retry-After") == "1")
        #expect(later.statuses == ["201"])
    }

    @Test func `conditional creates at the same time store duplicates if the search lags`() throws {
        let fhir = try FHIRBench("azure", ["search-lag=1s"])
        let create = JSON.entry(
            "POST", "Observation", .identified("k"), ifNoneExist: "identifier=urn:key|k")

        let both = try fhir.batch([create, create])
        try fhir.post((Bench.start + .seconds(2)).description, to: "/_sandbox/clock")
        let later = try fhir.batch([create])

        #expect(both.statuses == ["201", "201"])
        #expect(later.statuses == ["412"])
        let duplicates = try fhir.send("GET", "/_sandbox/fhir").body["duplicates"].elements
        #expect(duplicates.map { $0["resources"] } == [2])
    }

    @Test func `an emptied server has nothing, and the record of requests stays`() throws {
        let fhir = try FHIRBench("hapi")
        _ = try fhir.batch(JSON.puts("a"))

        let emptied = try fhir.send("DELETE", "/_sandbox/fhir")
        let gone = try fhir.send("GET", "/fhir/Observation/a")
        let record = try fhir.send("GET", "/_sandbox/fhir").body

        #expect(emptied.body == ["emptied": 1])
        #expect(gone.status == 404)
        #expect(record["requests"] == 2)
        #expect(record["kept"] == .object([]))
        #expect(record["versions"] == 0)
    }
}

@Suite struct FHIRLoginTests {
    private func token(
        _ fhir: FHIRBench, _ form: String, _ headers: String = "X-None: 1"
    ) throws -> FHIRBench.Answer {
        try fhir.send(
            "POST", "/fhir/token", nil, headers, bytes: Array(form.utf8),
            type: "application/x-www-form-urlencoded")
    }

    @Test func `a fixed token is asked for, and the statement is open`() throws {
        let fhir = try FHIRBench("hapi", login: "token:invented")

        let without = try fhir.send("GET", "/fhir/Observation")
        let with = try fhir.send("GET", "/fhir/Observation", nil, "Authorization: Bearer invented")

        #expect(without.status == 401)
        #expect(without.header("WWW-Authenticate") == "Bearer error=\"invalid_token\"")
        #expect(without.body["resourceType"] == "OperationOutcome")
        #expect(with.status == 200)
        #expect(try fhir.send("GET", "/fhir/metadata").status == 200)
        #expect(try fhir.send("GET", "/fhir/.well-known/smart-configuration").status == 404)
    }

    @Test(arguments: [
        ("&client_id=me&client_secret=p%25q", "X-None: 1", 200),
        // `me:p%25q`: both parts are escaped as in a form.
        ("", "Authorization: Basic bWU6cCUyNXE=", 200),
        ("", "Authorization: Basic bWU6cHE=", 401), ("&client_id=me", "X-None: 1", 401),
        ("&client_id=you&client_secret=p%25q", "X-None: 1", 401),
    ])
    func `a client with a secret gets a token`(
        _ form: String, _ header: String, _ status: Int
    ) throws {
        let fhir = try FHIRBench("hapi", login: "secret:me:p%q")
        let start = "grant_type=client_credentials&scope=system/Observation.write"

        let answer = try token(fhir, start + form, header)
        let configuration = try fhir.send("GET", "/fhir/.well-known/smart-configuration").body

        #expect(answer.status == status)
        #expect(configuration["token_endpoint"] == "http://localhost/fhir/token")
        #expect(
            configuration["token_endpoint_auth_methods_supported"]
                == ["client_secret_basic", "client_secret_post"])
        if status == 200 {
            #expect(answer.body["token_type"] == "bearer")
            #expect(answer.body["expires_in"] == 3600)
            #expect(answer.body["scope"] == "system/Observation.cud")
            #expect(answer.header("Cache-Control") == "no-store")
        } else {
            #expect(answer.body["error"] == "invalid_client")
        }
    }

    @Test func `a token ends by time, by order and in the middle of a bundle`() throws {
        let fhir = try FHIRBench("hapi", login: "secret:me:s")
        let form = "grant_type=client_credentials&scope=system/*.*&client_id=me&client_secret=s"
        func header() throws -> String {
            "Authorization: Bearer \(try token(fhir, form).body["access_token"].string)"
        }
        var header1 = try header()

        let good = try fhir.batch(JSON.puts("a"), header1)
        try fhir.post((Bench.start + .seconds(3600)).description, to: "/_sandbox/clock")
        let late = try fhir.batch(JSON.puts("a"), header1)
        header1 = try header()
        try fhir.post("", to: "/_sandbox/expire-tokens")
        let expired = try fhir.batch(JSON.puts("a"), header1)
        header1 = try header()
        try fhir.post("PUT /Observation/b: expire", to: "/_sandbox/fault")
        let middle = try fhir.batch(JSON.puts("a", "b", "c"), header1)
        let after = try fhir.batch(JSON.puts("a"), header1)

        #expect(good.statuses == ["201"])
        #expect([late.status, expired.status, after.status] == [401, 401, 401])
        #expect(middle.statuses == ["200", "401", "401"])
        #expect(try fhir.stored() == ["a/1"])
    }

    @Test(arguments: [
        ("system/Observation.u", "201 403 403", "system/Observation.u"),
        ("system/*.cruds", "201 403 200", "system/*.rus"),
        ("system/Observation.read", "403 403 200", "system/Observation.rs"),
        ("http://x/fhir/.default", "201 403 200", "system/*.rus"),
        ("system/Patient.d", "", nil), ("openid", "", nil),
    ])
    func `a scope allows what was asked for and is registered`(
        _ scope: String, _ statuses: String, _ granted: String?
    ) throws {
        let fhir = try FHIRBench("azure", login: "secret:me:s", scope: "system/*.rus")
        let form = "grant_type=client_credentials&client_id=me&client_secret=s&scope="

        let answer = try token(fhir, form + scope)

        #expect(answer.body["scope"]?.text == granted)
        guard granted != nil else {
            #expect(answer.status == 400)
            #expect(answer.body["error"] == "invalid_scope")
            return
        }
        let header = "Authorization: Bearer \(try answer.body["access_token"].string)"
        let batch = try fhir.batch(
            JSON.puts("a") + [
                .entry("DELETE", "Observation/none"), .entry("GET", "Observation?_summary=count"),
            ], header)
        #expect(batch.statuses.joined(separator: " ") == statuses)
    }

    // The keys and both assertions were made with the program openssl.
    private static let keys = """
        {"keys":[{"kty":"RSA","kid":"r","alg":"RS384","n":"kpTduJJhL6fbe7ToB25-mfZ5f3Q83UmI2\
        ZuR8cJobfUE5nmYrRSC8pQipQj2R0NVRI-vhwbQKjX2lePF-P2VFyV1qdcUIbv1WuKCZKefd6E7_OrZMMKw1\
        UzU-agV-0Sk4DN32zbhLBkH_Ni8aGMxq1Moe8CJp_8h7mHAEy_K8vS1AbyiSPT_vkir31J8jefKN_PeA5LKn\
        1fQt6FW86vGaYPOuJJ3WsHkAnpIQHpA6xQCRn68qqfsafrNLB9KJQPuVTC4TtnunjhlyJe-32DBWd79S2U0H\
        W50p7pwUYCRfY3B6ylp6kYiTosoa3lTUr6Fqtdo4viQVm3Xc4dn0UO7Ew","e":"AQAB"},{"kty":"EC","\
        kid":"e","crv":"P-384","x":"SAbKXD5LMD1Jm9U9zpGJ6iely7s3W_X-tP3hMlMxlPBSeL5Z_umImWS9\
        1kzVyynB","y":"W9JcH0E0d1Nf7rMeGpnyubUqq8AZK1K31GNOvwrl4LRjsXVKYaQMTwnq2SNozmiv"}]}
        """
    private static let assertions = [
        "RS384":
            "eyJhbGciOiJSUzM4NCIsImtpZCI6InIiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJtZSIsInN1YiI6Im1lIiw"
            + "iYXVkIjoiaHR0cDovL2xvY2FsaG9zdC9maGlyL3Rva2VuIiwiZXhwIjoxODAwMDAwMzAwLCJqdGkiOiIxI"
            + "n0.OlK78Pq9yQVfzGBy2LG73VQzq3YNIQ1p69bPq6bilvhUbrIBuYnEpZzfPv1JQs4ukc8idqnYHiDRv3J"
            + "Pgfw0FFqLzsfnOlqsgRLrEcSV0xYVXaNXSXX8P1W5qhVw8S7OJ1eQKhlJpCSdldWBcO0cHLzQlvRFc53p2"
            + "vmYNbfbBeqqLTHjxGaLRSVIl21KXfrZpgAGFgGmf1EEObeIWue2tkdEbMw8dGu-l2C_j8UTbiNupjZZAwl"
            + "dGn7C5powTRaj5MlPDlC9rA0Wj6uOwKbdCX5HdUlMrnkzMhZr_ZuA4vhhWEjvwCaE-PlrpwdaInt3aMujQ"
            + "eIj7_iFdUMVbYt8TQ",
        "ES384":
            "eyJhbGciOiJFUzM4NCIsImtpZCI6ImUiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJtZSIsInN1YiI6Im1lIiw"
            + "iYXVkIjoiaHR0cDovL2xvY2FsaG9zdC9maGlyL3Rva2VuIiwiZXhwIjoxODAwMDAwMzAwLCJqdGkiOiIyI"
            + "n0.RGx-yzw3S2az5aiiJitIt9TkmPLPM4Qvlqx4ddBVtwh6sgt5-_msDhdXIHXF7FSyg2dxsygu5IrzRgf"
            + "ZWteknuxMR0tAvUKLrkcamTfG9T7A_YEXwmM3LhvmyweXqYFg",
    ]

    private func keyFile() throws -> String {
        var path = Array("/tmp/clarity-keys-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        #expect(write(descriptor, Self.keys, Self.keys.utf8.count) == Self.keys.utf8.count)
        close(descriptor)
        return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func form(_ assertion: String) -> String {
        "grant_type=client_credentials&scope=system/*.cruds&client_assertion_type="
            + "urn:ietf:params:oauth:client-assertion-type:jwt-bearer&client_assertion=" + assertion
    }

    @Test(arguments: ["RS384", "ES384"])
    func `an assertion that the registered key has signed counts once`(_ name: String) throws {
        let file = try keyFile()
        defer { unlink(file) }
        let assertion = try #require(Self.assertions[name])
        let fhir = try FHIRBench("hapi", login: "jwt:me:\(file)")
        let middle = assertion.index(assertion.endIndex, offsetBy: -9)
        let forged = assertion.replacingCharacter(at: middle)

        let wrong = try token(fhir, form(forged))
        let first = try token(fhir, form(assertion))
        let second = try token(fhir, form(assertion))

        #expect(wrong.status == 401)
        #expect(wrong.body["error_description"] == "the signature does not fit the key")
        #expect(first.status == 200)
        #expect(second.body["error_description"]?.text?.hasPrefix("jti ") == true)
        let header = "Authorization: Bearer \(try first.body["access_token"].string)"
        #expect(try fhir.send("GET", "/fhir/Observation", nil, header).status == 200)
        let configuration = try fhir.send("GET", "/fhir/.well-known/smart-configuration").body
        #expect(
            configuration["token_endpoint_auth_methods_supported"] == ["private_key_jwt"])
    }

    @Test(arguments: [
        ("me", 300, "exp 1800000300, now 1800000300"), ("me", -1, "exp 1800000300, now 1799999999"),
        ("you", 0, "iss \"me\""),
    ])
    func `an assertion is for one client and five minutes`(
        _ client: String, _ seconds: Int64, _ reason: String
    ) throws {
        let file = try keyFile()
        defer { unlink(file) }
        let fhir = try FHIRBench("hapi", login: "jwt:\(client):\(file)")
        try fhir.post((Bench.start + .seconds(seconds)).description, to: "/_sandbox/clock")

        let answer = try token(fhir, form(Self.assertions["RS384"] ?? ""))

        #expect(answer.status == 401)
        #expect(answer.body["error_description"] == .string(reason))
    }

    @Test(arguments: [
        ("", "typ missing"), ("e30.e30.e30", "typ missing"),
        // {"typ":"JWT","alg":"none"}
        ("eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.e30.e30", "alg \"none\""),
    ])
    func `an assertion without the right head is refused`(
        _ assertion: String, _ reason: String
    ) throws {
        let fhir = try FHIRBench("hapi", login: "jwt:me:/nonexistent")

        let answer = try token(fhir, form(assertion))
        let grant = try token(fhir, "grant_type=password")

        #expect(answer.body["error_description"] == .string(reason))
        #expect(grant.body["error"] == "unsupported_grant_type")
    }
}

extension String {
    /// Returns the text with another letter or digit in one place.
    fileprivate func replacingCharacter(at index: Index) -> String {
        String(self[..<index]) + (self[index] == "A" ? "B" : "A")
            + self[self.index(after: index)...]
    }
}
