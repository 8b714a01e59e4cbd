import ClarityScheduler
import HealthModel
public import HealthStore
import Platform

// What `fhir verify`, `fhir erase` and the sums say of a job's FHIR server.

/// How many resources of a type and month a server has, beside how many it confirmed.
public struct FHIRMonthComparison: Reported, Hashable, Sendable {
    public let type: String
    /// Such as `2026-01`; `nil` for devices.
    public let month: String?
    public var sent = 0
    public var found = 0
    public var missing = 0
    public var changed = 0

    public init(type: String, month: String?) { (self.type, self.month) = (type, month) }

    public static let report = Report<FHIRMonthComparison>(
        [
            Column("type", "type of the records, or `days` or `devices`") { $0.type },
            Column("month", "the month, in UTC") { $0.month },
            Column("sent", "resources that the server confirmed") { $0.sent },
            Column("found", "how many of them it has") { $0.found },
            Column("missing", "how many of them it does not have") { $0.missing },
            Column("changed", "how many of those found have another version than then") {
                $0.changed
            },
        ], name: "fhir_month")

    public var isWhole: Bool { missing == 0 && changed == 0 }
}

/// A comparison of what a FHIR server has with what a job sent there.
public struct FHIRComparison: Reported, Sendable {
    public let job: String
    public let url: String
    public var months: [FHIRMonthComparison] = []
    /// Resources that are the job's own, and were not known as sent.
    public var unnoted = 0
    /// Observations of the patient that are somebody else's; `nil` if the server could not be
    /// searched for the patient.
    public var foreign: Int?
    /// Whether what was found counts as what was sent from now on.
    public var isSettled = false

    public init(job: String, url: String) { (self.job, self.url) = (job, url) }

    public static let report = Report<FHIRComparison>([
        Column("job", "id of the job") { $0.job },
        Column("url", "the server") { $0.url },
        Column("ok", "whether the server has everything as it was sent") { $0.isWhole },
        Column("months", "the comparison by type and month") { $0.months },
        Column("unnoted", "resources of the job that were not known as sent") { $0.unnoted },
        Column(
            "foreign",
            "Observations of the patient that others sent; null for a patient by identifier"
        ) { $0.foreign },
        Column("settled", "whether what was found counts as what was sent from now on") {
            $0.isSettled
        },
    ])

    public var isWhole: Bool { months.allSatisfy(\.isWhole) }

    public var lines: [String] {
        func sum(_ member: KeyPath<FHIRMonthComparison, Int>) -> Int {
            months.reduce(0) { $0 + $1[keyPath: member] }
        }
        let (sent, missing, changed) = (sum(\.sent), sum(\.missing), sum(\.changed))
        var lines = [
            "`\(url)` confirmed \(counted(sent, "resources")): it has \(sum(\.found)), "
                + "\(missing) are missing, \(changed) were changed there"
        ]
        lines += months.filter { !$0.isWhole }.map { month in
            "  \(month.type)\(month.month.map { " \($0)" } ?? ""): \(month.missing) missing, "
                + "\(month.changed) changed"
        }
        if unnoted > 0 { lines.append("\(unnoted) more are this job's, and not known as sent") }
        if let foreign, foreign > 0 {
            lines.append("\(counted(foreign, "Observations")) of the patient are from others")
        }
        if isSettled {
            lines.append("noted; the next run sends what is missing or changed")
        } else if missing + changed + unnoted > 0 {
            lines.append("`--settle` notes this, and the next run sends what is missing or changed")
        }
        return lines.map(\.forReport)
    }
}

/// What `fhir erase` deletes, or has deleted.
public struct FHIRErasureResult: Reported, Sendable {
    public let job: String
    public let url: String
    /// The number of resources by type.
    public var resources: [String: Int64]
    public var erased: Int64 = 0
    public var left: Int64 = 0

    public init(job: String, url: String, resources: [String: Int64]) {
        (self.job, self.url, self.resources) = (job, url, resources)
    }

    public static let report = Report<FHIRErasureResult>([
        Column("job", "id of the job") { $0.job },
        Column("url", "the server") { $0.url },
        Column("resources", "number of resources to delete, by type") { $0.resources },
        Column("erased", "how many the server deleted, or did not have") { $0.erased },
        Column("left", "how many it still has") { $0.left },
    ])

    public var total: Int64 { resources.values.reduce(0, +) }

    /// What a person is asked about.
    public var question: [String] {
        ["delete at `\(url)`:"]
            + resources.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)" }
            + [
                "\(counted(total, "resources")) in all. The job does not send them again. A server may keep "
                    + "former versions; ask who runs it."
            ]
    }

    public var lines: [String] {
        ["`\(url)` deleted \(counted(erased, "resources"))"]
            + (left > 0 ? ["\(left) are still there; the same command goes on"] : [])
    }
}

/// What the FHIR server of a job has of the archive: records = sent + refused + waiting + others.
public struct FHIRSums: Reported, Sendable {
    public let job: String
    public let url: String
    /// The records of the archive, and those of types that this job does not send.
    public var records: Int64 = 0
    public var others: Int64 = 0
    /// The records of which the server has answered everything, refused ones included.
    public var answered: Int64 = 0
    /// The records that it refused; where several records are one resource, none.
    public var refused: Int64 = 0
    public var there = SentSums()

    public init(job: String, url: String) { (self.job, self.url) = (job, url) }

    public var waiting: Int64 { max(0, records - others - answered) }

    public static let report = Report<FHIRSums>([
        Column("job", "id of the job") { $0.job }.shown("JOB"),
        Column("url", "the server") { $0.url },
        Column("records", "number of records in the archive") { $0.records }
            .shown("RECORDS", isNumber: true),
        Column("sent", "number of records that the server has") { $0.answered - $0.refused }
            .shown("SENT", isNumber: true),
        Column("refused", "number of records that it refused for what they say") { $0.refused }
            .shown("REFUSED", isNumber: true),
        Column("waiting", "number of records that wait to be sent") { $0.waiting }
            .shown("WAITING", isNumber: true),
        Column("others", "number of records of types that the job does not send") { $0.others }
            .shown("NOT FOR IT", isNumber: true),
        Column("resources", "number of resources that the server confirmed") {
            $0.there.confirmed
        }.shown("RESOURCES", isNumber: true),
        Column("refused_resources", "number of resources that it refused") { $0.there.refused },
        Column("withdrawn", "number of resources that were marked as entered in error") {
            $0.there.withdrawn
        },
        Column("erased", "number of resources that a person erased there") { $0.there.erased },
    ])

    /// The sums in one line, for `status`.
    public var line: String {
        var words =
            "\(job): `\(url)` has \(counted(answered - refused, "records")) "
            + "in \(counted(there.confirmed, "resources"))"
        if waiting > 0 { words += ", \(waiting) wait" }
        if there.refused > 0 { words += ", \(there.refused) were refused" }
        return words
    }
}
