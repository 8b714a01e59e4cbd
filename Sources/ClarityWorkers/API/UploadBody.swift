import ClarityJobs
import ClarityScheduler

extension Dialect {
    /// The body of the upload of `batch`.
    ///
    /// - Throws: `APIError.validation` with the indices of metrics that cannot be written: of a
    ///   kind that the backend does not accept, or a value that JSON has no number for.
    ///   `.requestTooLarge` beyond the dialect's limits.
    func uploadBody(_ batch: UploadBatch) throws(APIError) -> [UInt8] {
        precondition(!batch.metrics.isEmpty, "an upload takes at least 1 metric, got 0")
        guard batch.metrics.count <= limits.metricsPerRequest else { throw .requestTooLarge }
        let unwritable = batch.metrics.indices.filter { numbers(batch.metrics[$0].sample) == nil }
        guard unwritable.isEmpty else { throw .validation(indices: unwritable) }
        var json = JSONWriter(capacity: 200 + 400 * batch.metrics.count)
        json.object { json in
            json.field("user_id", batch.userID)
            json.array("metrics") { json in
                for metric in batch.metrics { write(metric, into: &json) }
            }
            json.field("upload_source", uploadSource)
            json.field("client_timestamp", batch.clientTimestamp)
        }
        guard json.bytes.count <= limits.requestBytes else { throw .requestTooLarge }
        return json.bytes
    }

    private func write(_ metric: UploadMetric, into json: inout JSONWriter) {
        let sample = metric.sample
        guard let field = fields[sample.kind], let numbers = numbers(sample) else { return }
        json.object { json in
            json.field("metric_id", metric.id)
            json.field("metric_type", field.metricType)
            json.object(named: field.payload.name) { json in
                for (name, number) in zip(field.names, numbers) {
                    json.field(name, number: number)
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

    /// The numbers of a sample as JSON writes them, one for each name of its field; `nil` when it
    /// has no field, other numbers than its field, or no finite number.
    private func numbers(_ sample: Sample) -> [String]? {
        guard let field = fields[sample.kind] else { return nil }
        switch sample.value {
        case .pressure(let systolic, let diastolic):
            return field.names.count == 2 ? [String(systolic), String(diastolic)] : nil
        case .single(let value):
            guard field.names.count == 1, value.isFinite else { return nil }
            // The shortest digits that read back as the same number.
            guard field.isWhole else { return [value.description] }
            return Int64(exactly: value.rounded()).map { [String($0)] }
        }
    }
}
