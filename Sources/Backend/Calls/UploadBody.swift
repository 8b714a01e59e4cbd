import BackendContract
import HealthModel
import ClarityScheduler
import JSON

extension UploadEndpoint {
    /// Returns the body of the upload of `batch`, in the format of this endpoint.
    ///
    /// - Parameter userID: the owner of the samples, in the backend's spelling.
    /// - Throws: `APIError.validation` with the indices of metrics that cannot be written, because
    ///   the backend does not accept their kind or JSON has no number for their value;
    ///   `.requestTooLarge` beyond the endpoint's limits.
    func body(_ batch: UploadBatch, userID: String) throws(APIError) -> [UInt8] {
        precondition(!batch.metrics.isEmpty, "an upload takes at least 1 metric, got 0")
        guard batch.metrics.count <= samplesPerRequest else { throw .requestTooLarge }
        let unwritable = batch.metrics.indices.filter { !isWritable(batch.metrics[$0].sample) }
        guard unwritable.isEmpty else { throw .validation(indices: unwritable) }
        var json = JSONWriter(capacity: 200 + 400 * batch.metrics.count)
        switch format {
        case .metrics(let fields): write(batch, userID, fields, into: &json)
        case .healthKit: writeSamples(batch, userID, into: &json)
        }
        guard json.bytes.count <= requestBytes else { throw .requestTooLarge }
        return json.bytes
    }

    private func write(
        _ batch: UploadBatch, _ userID: String, _ fields: [SampleKind: UploadField],
        into json: inout JSONWriter
    ) {
        json.object { json in
            json.field("user_id", userID)
            json.array("metrics") { json in
                for metric in batch.metrics {
                    guard let field = fields[metric.sample.kind] else { continue }
                    write(metric, field, fields, into: &json)
                }
            }
            json.field("upload_source", source)
            json.field("client_timestamp", batch.clientTimestamp)
            json.field("sync_token", batch.id)
        }
    }

    private func write(
        _ metric: UploadMetric, _ field: UploadField, _ fields: [SampleKind: UploadField],
        into json: inout JSONWriter
    ) {
        let sample = metric.sample
        json.object { json in
            json.field("metric_id", metric.id)
            json.field("metric_type", field.metricType)
            json.object(field.payload.name) { json in
                switch sample.value {
                case .single(let value): json.write(value, field)
                case .pressure(let systolic, let diastolic):
                    json.field(field.names[0], number: systolic)
                    json.field(field.names[1], number: diastolic)
                case .sleep(let night):
                    json.fields(of: night)
                    json.field("sleep_start", sample.start)
                    json.field("sleep_end", sample.end)
                case .activity(let day):
                    for (value, field) in written(day, fields) { json.write(value, field) }
                case .values(let values): json.fields(of: values, sample.kind)
                }
                if let timestamp = field.payload.timestamp { json.field(timestamp, sample.start) }
            }
            if let source = sample.source { json.field("device_id", source) }
            json.object("metadata") { json in
                json.field("start_date", sample.start)
                json.field("end_date", sample.end)
            }
            json.field("created_at", sample.start)
        }
    }

    /// Whether there is a field for a sample, and a number for each part of it.
    private func isWritable(_ sample: Sample) -> Bool {
        guard sample.hasValueOfItsKind else { return false }
        guard case .metrics(let fields) = format else { return true }
        guard let field = fields[sample.kind] else { return false }
        switch sample.value {
        case .single(let value): return field.canWrite(value)
        case .pressure, .sleep, .values: return true
        case .activity(let day): return !written(day, fields).isEmpty
        }
    }

    /// Returns the values of a day that have a field and are within its range, in a fixed order.
    private func written(
        _ day: ActivityDay, _ fields: [SampleKind: UploadField]
    ) -> [(value: Double, field: UploadField)] {
        ActivityDay.kinds.compactMap { kind in
            guard let value = day[kind], let field = fields[kind], field.canWrite(value),
                field.ranges.first?.contains(value) ?? true
            else { return nil }
            return (value, field)
        }
    }
}

extension UploadField {
    /// Whether a value can be written as a number of this field.
    fileprivate func canWrite(_ value: Double) -> Bool {
        !isWhole || Int(exactly: value.rounded()) != nil
    }
}

extension JSONWriter {
    /// Writes the number of a field.
    fileprivate mutating func write(_ value: Double, _ field: UploadField) {
        if field.isWhole {
            self.field(field.names[0], number: Int(value.rounded()))
        } else {
            self.field(field.names[0], number: value)
        }
    }

    /// Writes an instant as RFC 3339 in UTC; as an element if `key` is `nil`.
    mutating func field(_ key: String?, _ instant: Instant) {
        plain(key) { instant.append(to: &$0) }
    }

    /// Writes the known values under their names, a mood as a word.
    mutating func fields(of values: MeasuredValues, _ kind: SampleKind) {
        for measure in kind.measures {
            guard let number = values.numbers[measure] else { continue }
            let name = kind.fieldName(of: measure)
            switch measure {
            case .mood: field(name, Measure.moods[Int(number.rounded()) - 1])
            case _ where measure.isWhole: field(name, number: Int(number.rounded()))
            default: field(name, number: number)
            }
        }
        if let name = kind.textName, let text = values.text { field(name, text) }
    }

    /// Writes a night without its start and end, and without its unknown values.
    mutating func fields(of night: SleepNight) {
        field("total_sleep_minutes", number: night.totalMinutes)
        field("sleep_efficiency", number: night.efficiency)
        if let minutes = night.minutesToSleep { field("time_to_sleep_minutes", number: minutes) }
        if night.knowsWakeCount { field("wake_count", number: night.wakeCount) }
        guard night.hasStages || night.awakeMinutes > 0 else { return }
        object("sleep_stages") { json in
            json.field("awake", number: night.awakeMinutes)
            guard night.hasStages else { return }
            json.field("light", number: night.lightMinutes)
            json.field("deep", number: night.deepMinutes)
            json.field("rem", number: night.remMinutes)
        }
    }
}

extension UploadEndpoint {
    /// Writes a batch in HealthKit's encoding; every sample must be writable. Each sample goes into the
    /// list of its encoding, in the order of the batch.
    func writeSamples(_ batch: UploadBatch, _ userID: String, into json: inout JSONWriter) {
        json.object { json in
            json.field("user_id", userID)
            json.array("quantity_samples") { write(batch, .quantities, into: &$0) }
            json.array("category_samples") { write(batch, .categories, into: &$0) }
            json.array("workouts") { write(batch, .workouts, into: &$0) }
            json.array("correlation_samples") { write(batch, .correlations, into: &$0) }
            json.object("upload_metadata") { json in
                json.field("upload_source", source)
                json.field("client_timestamp", batch.clientTimestamp)
            }
            json.field("sync_token", batch.id)
        }
    }

    private func write(
        _ batch: UploadBatch, _ list: HealthKitEncoding.List, into json: inout JSONWriter
    ) {
        for metric in batch.metrics {
            let encoding = metric.sample.kind.facts.healthKit
            if encoding.list == list { write(metric, encoding, into: &json) }
        }
    }

    private func write(
        _ metric: UploadMetric, _ encoding: HealthKitEncoding, into json: inout JSONWriter
    ) {
        let sample = metric.sample
        json.object { json in
            json.field("identifier", metric.id)
            json.field("type", encoding.type)
            switch sample.value {
            // A category of an interval has no number; HealthKit writes "not applicable".
            case .single where encoding.list == .categories: json.field("value", number: 0)
            case .single(let value): json.field("value", number: value / encoding.divisor)
            case .pressure(let systolic, let diastolic):
                json.object("value") { json in
                    json.field("systolic", number: systolic)
                    json.field("diastolic", number: diastolic)
                }
            case .sleep(let night): json.object("value") { $0.fields(of: night) }
            case .activity(let day): json.object("value") { $0.fields(of: day) }
            case .values(let values): json.object("value") { $0.fields(of: values, sample.kind) }
            }
            if let unit = encoding.unit { json.field("unit", unit) }
            json.field("start_date", sample.start)
            json.field("end_date", sample.end)
            if let source = sample.source { json.field("source_name", source) }
            json.object("metadata") { _ in }
        }
    }
}

extension JSONWriter {
    /// Writes the known values of a day, under names that state the unit.
    fileprivate mutating func fields(of day: ActivityDay) {
        for kind in ActivityDay.kinds {
            if let name = kind.facts.day?.name, let value = day[kind] {
                field(name, number: value)
            }
        }
    }
}
