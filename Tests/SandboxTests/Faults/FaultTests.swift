import Testing

@testable import clarity_jobs_sandbox

@Suite struct FaultRuleTests {
    @Test func `a rule is read with its actions in order`() throws {
        let rule = try FaultRule(
            "POST /health-data/upload: 503 retry-after=2 x3, latency=250ms x*, reset")

        #expect(rule.method == "POST")
        #expect(rule.segments == ["health-data", "upload"])
        #expect(
            rule.steps == [
                .init(action: .status(503, retryAfter: 2), remaining: 3),
                .init(action: .latency(.milliseconds(250)), remaining: nil),
                .init(action: .reset, remaining: 1),
            ])
    }

    @Test func `a rule may be for bodies with a text alone`() throws {
        let rule = try FaultRule("POST /health-data/upload ~211.25: 422 x*")

        let bodies = ["", "{\"heart_rate\":211.25}", "{\"heart_rate\":211.5}"]
        #expect(
            bodies.map {
                rule.matches(
                    method: "POST", segments: ["health-data", "upload"], body: Array($0.utf8))
            } == [false, true, false])
        #expect(
            throws: UsageError(
                "fault `GET /a 211: 422`: what follows the path is a text of the "
                    + "body such as `~211.25`")
        ) { try FaultRule("GET /a 211: 422") }
    }

    @Test(
        arguments: [
            ("truncate", .truncate), ("garbage", .garbage), ("expire", .expire), ("drop", .drop),
            ("hang", .hang), ("pass", .pass), ("404", .status(404, retryAfter: nil)),
            ("429 x1 retry-after=0", .status(429, retryAfter: 0)), ("stored=400", .stored(400)),
        ] as [(String, FaultAction)])
    func `each action has a word`(_ text: String, _ action: FaultAction) throws {
        #expect(try FaultRule("* /a/*: \(text)").steps == [.init(action: action, remaining: 1)])
    }

    @Test(arguments: [
        ("POST /a", "`:` missing; write `METHOD PATH: ACTION xCOUNT, ...`"),
        ("/a: 503", "a method and a path such as `GET /health-data` must precede `:`"),
        ("GET a: 503", "a method and a path such as `GET /health-data` must precede `:`"),
        (
            "FETCH /a: 503",
            "unknown method `FETCH`; there are GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS, *"
        ),
        ("GET /a:", "an action is missing"),
        ("GET /a: 503,", "an action is missing"),
        (
            "GET /a: boom",
            "unknown action `boom`; there are a status of 200 to 599, reset, truncate, "
                + "latency=SPAN, garbage, expire, drop, stored=STATUS, outage, hang, pass and, for "
                + "FHIR, lose, bloat and empty"
        ),
        (
            "GET /a: 600",
            "unknown action `600`; there are a status of 200 to 599, reset, truncate, "
                + "latency=SPAN, garbage, expire, drop, stored=STATUS, outage, hang, pass and, for "
                + "FHIR, lose, bloat and empty"
        ),
        ("GET /a: latency=5", "`latency=5` has no span such as `250ms` or `2s`"),
        ("GET /a: stored=200", "`stored=200` has no status of 400 to 599"),
        (
            "GET /a: 503 x0",
            "unknown word `x0`; there are `x3`, `x*` and, after a status, `retry-after=SECONDS`"
        ),
        (
            "GET /a: reset retry-after=1",
            "unknown word `retry-after=1`; there are `x3`, `x*` and, after a status, "
                + "`retry-after=SECONDS`"
        ),
    ])
    func `what cannot be read is explained`(_ text: String, _ reason: String) {
        #expect(throws: UsageError("fault `\(text)`: \(reason)")) {
            try FaultRule(text)
        }
    }
}

@Suite struct FaultPlanTests {
    private func plan(_ rules: String...) throws -> FaultPlan {
        var plan = FaultPlan()
        for rule in rules { plan.add(try FaultRule(rule)) }
        return plan
    }

    @Test func `actions are used up in order`() throws {
        var plan = try plan("POST /a: 503 x2, reset")

        let found = (0..<4).map { _ in plan.next(method: "POST", segments: ["a"]) }

        let refusal = FaultAction.status(503, retryAfter: nil)
        #expect(found == [refusal, refusal, .reset, nil])
        #expect(plan.rules.isEmpty)
    }

    @Test func `an action for ever is never used up`() throws {
        var plan = try plan("GET /a: garbage x*")

        let found = Set((0..<1000).map { _ in plan.next(method: "GET", segments: ["a"]) })

        #expect(found == [.garbage])
    }

    @Test func `other methods and paths use nothing up`() throws {
        var plan = try plan("GET /a/*: reset")

        #expect(plan.next(method: "POST", segments: ["a", "b"]) == nil)
        #expect(plan.next(method: "GET", segments: ["a"]) == nil)
        #expect(plan.next(method: "GET", segments: ["a", "b", "c"]) == nil)
        #expect(plan.next(method: "GET", segments: ["b", "b"]) == nil)
        #expect(plan.next(method: "GET", segments: ["a", "b"]) == .reset)
    }

    @Test func `rules for one request follow each other`() throws {
        var plan = try plan("* /a: hang", "GET /a: drop")

        #expect(plan.next(method: "GET", segments: ["a"]) == .hang)
        #expect(plan.next(method: "GET", segments: ["a"]) == .drop)
    }
}
