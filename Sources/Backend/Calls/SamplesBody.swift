import HealthModel
import ClarityScheduler
import JSON

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
