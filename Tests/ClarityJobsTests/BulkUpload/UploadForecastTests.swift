import HealthModel
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

@Suite struct UploadForecastTests {
    private func forecasts(
        _ waiting: [SampleKind: Int64], _ dialect: Dialect, _ routes: UploadRoute...
    ) -> [UploadForecast] {
        routes.compactMap { route in
            dialect.endpoints[route].map {
                UploadForecast(waiting, $0, batchSize: nil)
            }
        }
    }

    @Test func `the type with the most samples decides where one of each fits a request`() {
        let waiting: [SampleKind: Int64] = [.heartRate: 7000, .steps: 300]

        let sentence = UploadForecast.sentence(forecasts(waiting, .loop, .metrics, .samples))

        #expect(
            sentence
                == "7300 samples take about 70 h at 100 requests an hour; `route: samples` needs "
                + "8 requests")
    }

    @Test func `nothing is said where an hour is enough or nothing limits requests`() {
        let few: [SampleKind: Int64] = [.heartRate: 100]
        let many: [SampleKind: Int64] = [.heartRate: 100_000]

        #expect(UploadForecast.sentence(forecasts(few, .loop, .metrics, .samples)) == nil)
        #expect(UploadForecast.sentence(forecasts(many, .loop, .samples, .metrics)) == nil)
    }
}
