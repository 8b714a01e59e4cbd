import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import JSON

/// Publishes days and nights to a database that takes the line protocol of InfluxDB
/// (https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/).
///
/// A point is identified by its measurement, tags and time, so that a corrected day overwrites the
/// former one.
struct LineProtocolReceiver {
    /// The most lines in a request, as InfluxDB recommends
    /// (https://docs.influxdata.com/influxdb/v2/write-data/best-practices/optimize-writes/).
    private static let mostLines = 5000

    private let options: PublishOptions
    private let context: WorkContext
    private let days: PublishedDays
    private let person: String
    private let credential: Secret?
    private var publication: Publication

    init(_ options: PublishOptions, _ context: WorkContext) throws {
        self.options = options
        self.context = context
        days = try PublishedDays(options, atMost: nil, context)
        person = options.name(of: context.order.job.account)
        // A dry run gets no secrets.
        credential =
            if let name = options.secretName, !context.isDryRun {
                Self.credential(try context.secrets.secret(named: name), of: options.username)
            } else {
                nil
            }
        publication = try Publication(
            options.url,
            place: [options.organisation, options.bucket ?? options.database, person]
                .compactMap(\.self).joined(separator: "\n"), context)
    }

    /// InfluxDB 2 takes tokens, InfluxDB 1 and VictoriaMetrics a user and password.
    private static func credential(_ secret: Secret, of user: String?) -> Secret {
        guard let user else { return Secret("Token \(secret.reveal())") }
        return Secret("Basic \(Array("\(user):\(secret.reveal())".utf8).base64)")
    }

    mutating func publish() async throws {
        var lines = PointLines(person: person, zone: days.zone)
        var damage: String?
        defer { publication.note() }
        try await days.forEachPortion { rows, found in
            damage = damage ?? found
            var changed = publication.changed(lines.parts(of: rows))[...]
            while !changed.isEmpty {
                try context.checkTime()
                var count: Int64 = 0
                let next = changed.prefix { part in
                    count += part.counts.values.reduce(0, +)
                    return count <= Self.mostLines
                }
                let parts = Array(next.isEmpty ? changed.prefix(1) : next)
                changed = changed.dropFirst(parts.count)
                try publication.begin(parts)
                try await send(parts)
            }
        }
        if let damage { context.note(damage) }
    }

    /// Sends parts, in halves if the receiver finds them too large together.
    private mutating func send(_ parts: [PublishedPart]) async throws {
        if !context.isDryRun {
            let response: HTTPResponse
            do throws(TransportError) {
                response = try await context.transport.send(request(parts))
            } catch {
                let failure = error.failure(of: "`\(options.url)`").failure
                throw PublishRefusal(failure.category, failure.reason)
            }
            if response.status == 413, parts.count > 1 {
                try await send(Array(parts[..<(parts.count / 2)]))
                return try await send(Array(parts[(parts.count / 2)...]))
            }
            try check(response)
        }
        try publication.confirm(parts)
    }

    private func request(_ parts: [PublishedPart]) throws(TransportError) -> HTTPRequest {
        let base = options.url.withoutSlashAtEnd
        let address =
            if let bucket = options.bucket {
                "\(base)/api/v2/write?org=\(percentEncoded(options.organisation ?? ""))"
                    + "&bucket=\(percentEncoded(bucket))&precision=s"
            } else {
                "\(base)/write?db=\(percentEncoded(options.database ?? ""))&precision=s"
            }
        var headers = [HTTPHeader("Content-Type", .plain("text/plain; charset=utf-8"))]
        if let credential { headers.append(HTTPHeader("Authorization", .secret(credential))) }
        var request = HTTPRequest(
            .post, address, headers: headers, body: parts.flatMap(\.body))
        request.allowsPlainHTTP = options.allowsPlainHTTP
        return request
    }

    private func check(_ response: HTTPResponse) throws {
        let answer = "`\(options.url)` answers \(response.status)"
        switch response.status {
        case 200...299: return
        case 300...399:
            throw PublishRefusal(
                .configuration, "\(answer), which sends elsewhere; name that place")
        case 401, 403:
            throw PublishRefusal(
                .credential, "\(answer): it refuses the token or password, or lets it write nothing"
            )
        case 404:
            throw PublishRefusal(
                .configuration,
                "\(answer): it has no such bucket, organisation or database, or no such path")
        case 408, 425, 429, 500...:
            throw PublishRefusal(
                .unreachable, answer,
                after: RetryAfter.believable(
                    response.headers["retry-after"], now: context.clock.now))
        case 413: throw PublishRefusal(.work, "\(answer): a single day is too large for it")
        default: throw PublishRefusal(.work, "\(answer): it refuses the points")
        }
    }
}

/// Writes points of the line protocol.
struct PointLines {
    private let person: String
    private var local: LocalDays

    init(person: String, zone: Zone) {
        self.person = person
        local = LocalDays(zone: zone)
    }

    /// Returns the points of each day, and of each night, in the order of days.
    mutating func parts(of rows: [PublishedDays.Row]) -> [PublishedPart] {
        var parts: [PublishedPart] = []
        for (day, ofDay) in Dictionary(grouping: rows, by: \.day).sorted(by: { $0.key < $1.key }) {
            for isNight in [false, true] {
                let rows = ofDay.filter { $0.isOfNight == isNight }
                guard !rows.isEmpty else { continue }
                let date = CivilDay(daysSince1970: day).description
                parts.append(
                    PublishedPart(
                        name: isNight ? "night \(date)" : date,
                        body: Array(rows.map { line(of: $0) }.joined().utf8),
                        counts: Dictionary(rows.map { ($0.type, 1) }, uniquingKeysWith: +),
                        day: day, isNight: isNight))
            }
        }
        return parts
    }

    /// Returns the point of a row. Its time is the start of the day, also for a night, so that a
    /// night that is corrected stays one point.
    private mutating func line(of row: PublishedDays.Row) -> String {
        var tags = [("person", person)]
        if let measure = row.measure {
            tags += [("measure", measure.rawValue), ("unit", measure.unit)]
        }
        let fields = row.fields.compactMap { field in
            Self.number(field).map { "\(Self.escaped(field.name))=\($0)" }
        }
        // Sorted, as the protocol recommends for speed.
        return (row.measure == nil ? "clarity_night" : "clarity_day")
            + tags.sorted { $0.0 < $1.0 }.map { ",\($0.0)=\(Self.escaped($0.1))" }.joined()
            + " \(fields.joined(separator: ",")) \(local.day(row.day).start)\n"
    }

    /// Returns the value of a field. A field keeps its type, or the database refuses it: counts and
    /// instants, in seconds since 1970, are integers, and everything else has a fraction.
    private static func number(_ field: JSON.Member) -> String? {
        switch field.value {
        case .integer(let number) where field.name == "count": "\(number)i"
        case .string(let text): Instant(rfc3339: text).map { "\($0.secondsSince1970)i" }
        case let value: value.double.map { "\($0)" }
        }
    }

    /// Returns a tag's value or a field's key with its special characters escaped.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            if ",= ".contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
    }
}
