public import ClarityScheduler
import HealthModel

extension JobKind {
    /// The kind that gives days and nights on to a home's own systems.
    public static let publish = JobKind("publish")
}

/// The options of the kind `publish`.
public struct PublishOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .publish,
        summary: "publishes days and nights to Home Assistant (MQTT), or to InfluxDB and the like",
        options: declarations, addressKey: "url")

    /// What receives days and nights.
    public enum Receiver: String, CaseIterable, Sendable {
        /// A broker of MQTT, by the discovery of Home Assistant.
        case mqtt
        /// A database that takes the line protocol of InfluxDB.
        case influx
    }

    /// The type of nights; the others are groups of metrics.
    public static let nights = "nights"
    /// The days in which a broker's sensors look for their newest value, unless an option says so.
    public static let sensorDays = 14

    private var to = ""
    public var url = ""
    public var allowsPlainHTTP = false
    public var authorities: String?
    public var username: String?
    /// The variable or credential with the password or token.
    public var secretName: String?
    private var person: String?
    /// One type on each line; `nil` for all.
    private var types: String?
    /// How many days back from today are published; `nil` for all, or `sensorDays`.
    public var days: Int?
    private var prefix: String?
    public var organisation: String?
    public var bucket: String?
    public var database: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "to", .choice(Receiver.allCases.map(\.rawValue)), &to,
            "the receiver: a broker of MQTT, or a database with the line protocol of InfluxDB")
        fields.add(
            required: "url", .endpoint, &url,
            "its address, such as `mqtts://home.example:8883` or `https://home.example:8086`")
        fields.add(
            OptionDeclaration.plainHTTP, .boolean, &allowsPlainHTTP,
            "whether `url` may be http on another machine, or a password go over mqtt to a public "
                + "address, where anybody on the way reads along")
        fields.add(
            OptionDeclaration.authorities, .path, &authorities,
            "file with the certificate authorities to trust instead of the system's")
        fields.add("username", .line, &username, "name of the user at the receiver")
        fields.add(
            "secret", .secretName, &secretName,
            "name of the variable or credential with the password or token")
        fields.add(
            "person", .line, &person,
            "name of the device, and of the tag `person`; without it `Health`, and with accounts "
                + "always the account's id")
        fields.add(
            "types", .words(MetricGroup.allCases.map(\.rawValue) + [PublishOptions.nights]), &types,
            "types to publish; without it all")
        fields.add(
            "days", .integer(1...36_600), &days,
            "how many days back from today; without it all to a database, and to a broker "
                + "\(PublishOptions.sensorDays), within which it looks for the newest values")
        fields.add(
            "discovery_prefix", .line, &prefix,
            "with `to: mqtt`: the prefix that Home Assistant searches; without it `homeassistant`")
        fields.add("org", .line, &organisation, "with `to: influx`: organisation of the bucket")
        fields.add(
            "bucket", .line, &bucket,
            "with `to: influx`: bucket of InfluxDB 2, written by `/api/v2`")
        fields.add(
            "database", .line, &database,
            "with `to: influx`: database of InfluxDB 1 or VictoriaMetrics, written by `/write`")
        if let fault { fields.refuse(fault) }
    }

    public var receiver: Receiver { Receiver(rawValue: to) ?? .mqtt }
    public var discoveryPrefix: String { prefix ?? "homeassistant" }

    /// Returns the name of the person at the receiver.
    public func name(of account: AccountID?) -> String {
        account?.rawValue ?? person ?? "Health"
    }

    /// Whether a type is published.
    public func publishes(_ type: String) -> Bool {
        types?.split(separator: "\n").contains { $0 == type } ?? true
    }

    /// What does not fit together; `nil` also while the options are not read yet.
    private var fault: String? {
        guard !url.isEmpty, !to.isEmpty else { return nil }
        guard Receiver(rawValue: to) != nil else { return "option `to` is not one of its words" }
        let isMQTT = url.lowercased().hasPrefix("mqtt")
        let ofInflux = [("org", organisation), ("bucket", bucket), ("database", database)]
        switch receiver {
        case .mqtt:
            if !isMQTT { return "option `url` of `to: mqtt` begins with `mqtts://` or `mqtt://`" }
            if let option = ofInflux.first(where: { $0.1 != nil }) {
                return "option `\(option.0)` is for `to: influx`"
            }
            if discoveryPrefix.contains(where: { "#+".contains($0) }) {
                return "option `discovery_prefix` has a `#` or `+`, which no topic has"
            }
            if username == nil, secretName != nil {
                return "option `secret` is the password of a user; add `username`"
            }
        case .influx:
            if isMQTT { return "option `url` of `to: influx` begins with `https://`" }
            if prefix != nil { return "option `discovery_prefix` is for `to: mqtt`" }
            if (bucket == nil) == (database == nil) {
                return "`to: influx` wants one of the options `bucket` and `database`"
            }
            if bucket != nil, organisation == nil {
                return "option `bucket` wants `org`, its organisation"
            }
            if bucket != nil, username != nil {
                return "option `username` is for `database`; a `bucket` has a token alone"
            }
            if person?.hasSuffix("\\") == true {
                return "option `person` ends with `\\`, which no tag of the line protocol does"
            }
        }
        return nil
    }
}
