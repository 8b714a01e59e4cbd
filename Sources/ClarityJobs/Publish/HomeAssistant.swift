import HealthStore
import HealthModel
import ClarityScheduler
import JSON

/// Publishes the newest whole day and the last night as sensors of Home Assistant, by its MQTT
/// discovery (https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery).
///
/// The broker keeps the description and the state of each sensor (retained), so that they are there
/// after Home Assistant has restarted.
struct HomeAssistant {
    private let options: PublishOptions
    private let context: WorkContext
    private let days: PublishedDays
    /// The id of the person's device.
    private let device: String
    private var publication: Publication

    init(_ options: PublishOptions, _ context: WorkContext) throws {
        self.options = options
        self.context = context
        days = try PublishedDays(options, atMost: PublishOptions.sensorDays, context)
        device = "clarity_" + context.store.publications.personID(of: context.order.job.account)
        publication = try Publication(options.url, context)
    }

    mutating func publish() async throws {
        var newest: [Measure: PublishedDays.Row] = [:]
        var night: PublishedDays.Row?
        var damage: String?
        try await days.forEachPortion { rows, found in
            damage = damage ?? found
            for row in rows {
                guard let measure = row.measure else {
                    if night.map({ $0.day < row.day }) ?? true { night = row }
                    continue
                }
                if newest[measure].map({ $0.day < row.day }) ?? true { newest[measure] = row }
            }
        }
        var states: [(sensor: Sensor, row: PublishedDays.Row?)] = days.measures.map {
            (Sensor($0), newest[$0])
        }
        if days.hasNights {
            states += [(Sensor.nightStart, night), (Sensor.nightEnd, night)]
        }
        let wanted = states.flatMap { messages(about: $0.sensor, $0.row) }
        let changed = publication.changed(wanted) + withdrawals(besides: wanted)
        defer { publication.note() }
        if !changed.isEmpty {
            // A dry run gets no secrets.
            let connection = context.isDryRun ? nil : try BrokerConnection(options, context)
            try publication.begin(changed)
            try connection?.publish(
                changed.map { ($0.name, $0.body) }, isEnding: context.isEnding)
            try publication.confirm(changed)
        }
        if let damage { context.note(damage) }
    }

    private func descriptionTopic(_ sensor: Sensor) -> String {
        "\(options.discoveryPrefix)/sensor/\(device)/\(sensor.key)/config"
    }

    /// Returns the description and the state of a sensor. One that never had a value has neither;
    /// one that has no value any more is unknown.
    private func messages(about sensor: Sensor, _ row: PublishedDays.Row?) -> [PublishedPart] {
        let topic = "clarity-jobs/\(device)/\(sensor.key)"
        let isKnown = publication.confirmed[topic] != nil
        guard row != nil || isKnown else { return [] }
        var state = PublishedPart(
            name: topic, body: sensor.state(row).bytes, day: row?.day,
            isNight: row?.isOfNight == true)
        if let row { state.counts = [row.type: 1] }
        return [
            PublishedPart(
                name: descriptionTopic(sensor),
                body: sensor.description(
                    topic, device: device, person: options.name(of: context.order.job.account)
                ).bytes),
            state,
        ]
    }

    /// Returns what removes the sensors that are published no more: an empty message takes the place
    /// of a retained one.
    private func withdrawals(besides messages: [PublishedPart]) -> [PublishedPart] {
        Set(publication.confirmed.keys).subtracting(messages.map(\.name)).sorted()
            .map { PublishedPart(name: $0, body: []) }
    }
}

/// A sensor as Home Assistant knows it.
///
/// A whole day's total is a measurement too: a total that begins anew each day would be counted
/// twice in the statistics of Home Assistant. Units and classes are those of its documentation
/// (https://developers.home-assistant.io/docs/core/entity/sensor/).
struct Sensor {
    /// Its part of topics and ids.
    let key: String
    let name: String
    var unit: String?
    var deviceClass: String?
    var decimals: Int?
    /// The field of a row that is the state.
    private let field: String

    static let nightStart = Sensor(night: "start", "Asleep from")
    static let nightEnd = Sensor(night: "end", "Asleep until")

    private init(night field: String, _ name: String) {
        key = "night_\(field)"
        self.name = name
        self.field = field
        deviceClass = "timestamp"
    }

    init(_ measure: Measure) {
        key = measure.rawValue
        name = measure.title
        field = measure.summing == .mean ? "mean" : "total"
        decimals = measure.decimals
        switch (measure, measure.unit) {
        case (.respiratoryRate, _): unit = "br/min"
        case (.bloodGlucose, let own): (unit, deviceClass) = (own, "blood_glucose_concentration")
        case (.steps, _): unit = "steps"
        case (.flightsClimbed, _): unit = "floors"
        case (_, "1/min"): unit = "bpm"
        case (_, "degC"): (unit, deviceClass) = ("°C", "temperature")
        case (_, "km"): (unit, deviceClass) = ("km", "distance")
        case (_, "min"): (unit, deviceClass) = ("min", "duration")
        // A share, a number of times or a score.
        case (_, "share"), (_, "count"), (_, "1..5"), (_, "1..10"): break
        case (_, let own): unit = own
        }
    }

    /// Returns the state: the value, and what Home Assistant shows as attributes. Without a row the
    /// value is null, which the template makes `None`: unknown.
    func state(_ row: PublishedDays.Row?) -> JSON {
        guard let row else { return ["value": .null] }
        let value = row.fields.last { $0.name == field }?.value ?? .null
        let rest = row.measure == nil ? [] : row.fields.filter { $0.name != field }
        return JSON.object([
            JSON.Member(name: "value", value: value),
            JSON.Member(
                name: "day", value: .string(CivilDay(daysSince1970: row.day).description)),
        ]).adding(.object(rest))
    }

    /// Returns the message by which Home Assistant discovers the sensor.
    func description(_ topic: String, device: String, person: String) -> JSON {
        let object: JSON = [
            "name": .string(name), "unique_id": .string("\(device)_\(key)"),
            "state_topic": .string(topic), "value_template": "{{ value_json.value }}",
            "json_attributes_topic": .string(topic), "qos": 1, "device_class": .text(deviceClass),
            "state_class": .text(deviceClass == "timestamp" ? nil : "measurement"),
            "unit_of_measurement": .text(unit),
            "suggested_display_precision": .integer(optional: decimals.map { Int64($0) }),
            "device": [
                "identifiers": [.string(device)], "name": .string(person),
                "manufacturer": "clarity-jobs",
            ],
            "origin": ["name": "clarity-jobs"],
        ]
        return object.withoutNulls
    }
}
