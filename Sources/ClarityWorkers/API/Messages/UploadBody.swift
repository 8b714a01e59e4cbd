import ClarityJobs
import ClarityScheduler

extension UploadDoor {
    /// The body of the upload of `batch`, in the form of this door.
    ///
    /// - Parameter userID: whose samples they are, as the backend has it.
    /// - Throws: `APIError.validation` with the indices of metrics that cannot be written: of a
    ///   kind that the backend does not accept, or a value that JSON has no number for.
    ///   `.requestTooLarge` beyond the door's limits.
    func body(_ batch: UploadBatch, userID: String) throws(APIError) -> [UInt8] {
        precondition(!batch.metrics.isEmpty, "an upload takes at least 1 metric, got 0")
        guard batch.metrics.count <= samplesPerRequest else { throw .requestTooLarge }
        let unwritable = batch.metrics.indices.filter { !isWritable(batch.metrics[$0].sample) }
        guard unwritable.isEmpty else { throw .validation(indices: unwritable) }
        var json = JSONWriter(capacity: 200 + 400 * batch.metrics.count)
        switch form {
        case .metrics(let fields): write(batch, userID, fields, into: &json)
        case .healthKit: writeSamples(batch, userID, into: &json)
        }
        guard json.bytes.count <= requestBytes else { throw .requestTooLarge }
        return json.bytes
    }

    private func write(
        _ batch: UploadBatch, _ userID: String, _ fields: [SampleKind: Field],
        into json: inout JSONWriter
    ) {
        json.object { json in
            json.field("user_id", userID)
            json.array("metrics") { json in
                for metric in batch.metrics {
                    guard let field = fields[metric.sample.kind] else { continue }
                    write(metric, field, into: &json)
                }
            }
            json.field("upload_source", source)
            json.field("client_timestamp", batch.clientTimestamp)
        }
    }

    private func write(_ metric: UploadMetric, _ field: Field, into json: inout JSONWriter) {
        let sample = metric.sample
        json.object { json in
            json.field("metric_id", metric.id)
            json.field("metric_type", field.metricType)
            json.object(field.payload.name) { json in
                switch sample.value {
                case .single(let value) where field.isWhole:
                    json.field(field.names[0], number: Int(value.rounded()))
                case .single(let value): json.field(field.names[0], number: value)
                case .pressure(let systolic, let diastolic):
                    json.field(field.names[0], number: systolic)
                    json.field(field.names[1], number: diastolic)
                }
                if let timestamp = field.payload.timestamp { json.field(timestamp, sample.start) }
            }
            json.object("metadata") { json in
                json.field("start_date", sample.start)
                json.field("end_date", sample.end)
                if let source = sample.source { json.field("source", source) }
            }
            json.field("created_at", sample.start)
        }
    }

    /// Whether a sample has as many numbers as its field, and JSON has a number for each.
    private func isWritable(_ sample: Sample) -> Bool {
        switch (form, sample.value) {
        case (.metrics(let fields), .single(let value)):
            guard let field = fields[sample.kind], field.names.count == 1, value.isFinite else {
                return false
            }
            return !field.isWhole || Int(exactly: value.rounded()) != nil
        case (.metrics(let fields), .pressure): return fields[sample.kind]?.names.count == 2
        case (.healthKit, .single(let value)):
            return sample.kind != .bloodPressure && value.isFinite
        case (.healthKit, .pressure): return sample.kind == .bloodPressure
        }
    }
}
