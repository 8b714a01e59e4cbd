@testable import Backend
@testable import BackendContract
@testable import HealthStore
@testable import HealthModel

import Reports
import ClarityScheduler
@testable import ClarityJobs
import JSON

/// Checks that any answer of a backend becomes a value within bounds or a typed error, and that its
/// stored parts can be shown.
enum AnswerProperties {
    /// 2026-11-15T00:00:00Z.
    private static let now = Instant(secondsSince1970: 1_794_700_800)
    private static let statuses = [
        200, 200, 200, 200, 201, 202, 204, 301, 400, 401, 403, 404, 405, 409, 410, 413, 418, 422,
        429, 500, 502, 503, 504, 599,
    ]

    static func makeCheck() -> FuzzTarget.Check { { bytes in try check(bytes) } }

    /// Checks a text. Its first byte selects the dialect and small numbers, the second the call,
    /// the third the status.
    private static func check(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        guard bytes.count > 3 else { return }
        let call = APICall.allCases[Int(bytes[1]) % APICall.allCases.count]
        let status = statuses[Int(bytes[2]) % statuses.count]
        let dialect: Dialect = bytes[0] % 2 == 0 ? .blueprint : .loop
        let body = Array(bytes[3...])
        guard (200..<300).contains(status) else {
            return try refusal(body, status, of: call, dialect)
        }
        do throws(APIError) {
            try read(body, of: call, dialect, count: Int(bytes[0] >> 1) + 1)
        } catch .refused(let property) where property.hasPrefix("\u{0}") {
            throw BrokenProperty(description: String(property.dropFirst()))
        } catch {
            try checkError(error)
        }
    }

    /// Checks an answer that is no success. Its first line is the value of `Retry-After`.
    private static func refusal(
        _ bytes: [UInt8], _ status: Int, of call: APICall, _ dialect: Dialect
    ) throws {
        let line = bytes.prefix { $0 != 0x0A }
        let body = Array(bytes.dropFirst(line.count + 1))
        let response = HTTPResponse(
            status: status, headers: ["retry-after": String(decoding: line, as: UTF8.self)],
            body: body)
        let errors = [
            dialect.error(in: response, to: call, now: now), APIError(response, now: now),
        ]
        for case let error? in errors {
            if let after = error.after {
                try require(
                    (.seconds(1) ... .seconds(86_400)).contains(after), "a wait of \(after)")
            }
            try checkError(error)
        }
        let report = FaultReport(body)
        try require(report.faults.count <= FaultReport.mostFaults, "faults without end")
        for fault in report.faults {
            try require(fault.index >= 0, "a metric before the first")
            try demandHarmless(fault.field + fault.code, "a fault's name")
            try demandWords(fault.words)
        }
        try demandWords(report.words)
        try demandHarmless(report.code ?? "", "a code")
    }

    /// Checks the backend's words that are stored: they are short, harmless and without numbers.
    private static func demandWords(_ words: String?) throws {
        guard let words else { return }
        try require(words.utf8.count <= ServerWords.longest, "words without end")
        try demandHarmless(words, "a backend's words")
        try require(!words.contains { $0.isNumber }, "a number in a backend's words")
    }

    private static func checkError(_ error: APIError) throws {
        try demandHarmless("\(error.outcome)", "an error")
        switch error {
        case .validation(let indices), .conflict(let indices):
            try require(indices == Set(indices).sorted(), "indices out of order")
            try require(indices.first ?? 0 >= 0, "a metric before the first")
        default: break
        }
    }

    /// Decodes a success as its call does, and processes it as the workers do.
    private static func read(
        _ body: [UInt8], of call: APICall, _ dialect: Dialect, count: Int
    ) throws(APIError) {
        let reader = AnswerReader(call)
        switch call {
        case .register: _ = try reader.read(body, RegistrationResult.init)
        case .login:
            let login = try reader.read(body, LoginAnswer.init)
            _ = login.tokens.flatMap { TokenSubject.read(Secret($0.accessToken)) }
        case .refresh: _ = try reader.read(body, SessionTokens.init(renewed:))
        case .me, .updateMe: _ = try reader.read(body, UserProfile.init)
        case .uploadMetrics, .uploadSamples:
            for route in [UploadRoute.metrics, .samples] {
                guard let endpoint = dialect.endpointIfAny(route) else { continue }
                let receipt = try reader.receipt(body, from: endpoint, count: count)
                let named = receipt.duplicates + receipt.rejected.map(\.index)
                try require((0...count).contains(receipt.accepted), "more accepted than sent")
                try require(named.allSatisfy { (0..<count).contains($0) }, "one that was not sent")
                try require(Set(named).count == named.count, "one in two lists")
                try require(receipt.unexplained >= 0, "fewer than none are left open")
            }
        case .metricsStatus, .samplesStatus:
            for route in [UploadRoute.metrics, .samples] {
                guard let endpoint = dialect.endpointIfAny(route) else { continue }
                let status = try reader.processing(body, from: endpoint)
                try require(status.progress.map { (0...1).contains($0) } ?? true, "more than all")
                _ = StatusAnswer(status)
            }
        case .healthData: try page(body, dialect, reader)
        case .analyseSteps, .analyseActigraphy, .analysis:
            let result = StatusAnswer(try reader.read(body, Analysis.init))
            if case .completed(let found?) = result {
                try require(found.numbers.values.allSatisfy(\.isFinite), "a number that is none")
            }
        case .insight, .generateInsight:
            let insight = try reader.read(body, Insight.init)
            try show(
                CachedRow(id: insight.id ?? "", type: "insight", timestamp: now, json: insight.json)
            )
        case .insightHistory:
            let page = try reader.read(body, InsightsPage.init)
            try require(page.unreadableRows >= 0, "fewer than no rows")
            for row in page.rows {
                try show(
                    CachedRow(id: row.id, type: "i", timestamp: row.generatedAt, json: row.json))
            }
            _ = InsightNames(page.rows.map(\.id))
        case .greeting: _ = try Dialect.shown(by: HTTPResponse(status: 200, body: body))
        default: _ = try reader.read(body, ServiceHealth.init)
        }
    }

    private static func page(
        _ body: [UInt8], _ dialect: Dialect, _ reader: AnswerReader
    ) throws(APIError) {
        var cursor: String?
        for _ in 0..<2 {
            let page = try reader.healthData(body, after: cursor, paging: dialect.paging)
            try require(page.unreadableRows >= 0, "fewer than no rows")
            for row in page.rows {
                let numbers = MetricNumbers(row: row.json, type: row.type)
                try require(numbers.entries.allSatisfy(\.number.isFinite), "a number that is none")
                let form = numbers.form(before: row.json)
                let again = form.withUnsafeBytes { MetricNumbers(form: $0) }
                try require(again == numbers, "numbers that are kept otherwise")
                try require(MetricNumbers.json(of: form) == row.json, "JSON that is kept otherwise")
            }
            guard let next = page.nextCursor else { return }
            try require(next != cursor, "a page that names itself")
            try require(next.utf8.count <= AnswerReader.longestCursor, "a cursor without end")
            cursor = next
        }
    }

    /// Checks an insight as a person sees it, in a narrow and in a wide window.
    private static func show(_ row: CachedRow) throws(APIError) {
        let insight = InsightReport(row)
        for width in [20, 100] {
            for line in insight.lines(PageStyle(width: width, isPlain: true)) {
                try require(isHarmless(line), "an insight that steers the terminal")
                try require(!line.contains("\n"), "a line that is two")
            }
        }
        try require(
            isHarmless(StoredInsight(insight: insight, syncedAt: nil).object.page),
            "JSON that steers the terminal")
    }

    /// Ends the check from code that throws only errors of the client.
    private static func require(_ holds: Bool, _ property: String) throws(APIError) {
        if !holds { throw .refused("\u{0}\(property)") }
    }

    private static func isHarmless(_ text: String) -> Bool {
        do throws(BrokenProperty) {
            try demandHarmless(text, "")
            return true
        } catch {
            return false
        }
    }
}

extension Dialect {
    /// Returns the endpoint of a route, or `nil` if this dialect has none.
    fileprivate func endpointIfAny(_ route: UploadRoute) -> UploadEndpoint? {
        do throws(APIError) { return try endpoint(route) } catch { return nil }
    }
}

extension APIError {
    /// The wait that a backend asked for.
    fileprivate var after: Duration? {
        switch self {
        case .rateLimited(let after), .server(_, let after): after
        default: nil
        }
    }
}
