import ClarityClient
import ClarityContract
import ClarityJobs
import ClarityScheduler

extension WorkContext {
    /// Returns the outcome of an upload that waits for the next hour, with the time that all
    /// samples take.
    func forecasting(_ later: SendLater, _ options: BulkUploadOptions) async throws -> SendLater {
        guard case .snooze(let wait, var failure) = later.outcome else { return later }
        let waiting = try store.waitingSamples()
        let first = try await client.uploadRules(options.route)
        var forecasts = [UploadForecast(waiting, first, batchSize: options.batchSize)]
        for route in UploadRoute.allCases where route != first.route {
            do throws(APIError) {
                forecasts.append(
                    UploadForecast(
                        waiting, try await client.uploadRules(route), batchSize: options.batchSize))
            } catch .notOffered {
                continue
            }
        }
        guard let sentence = UploadForecast.sentence(forecasts) else { return later }
        failure.reason += ": \(sentence)"
        return SendLater(outcome: .snooze(after: wait, failure))
    }
}
