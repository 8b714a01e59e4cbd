import HealthModel
import ClarityScheduler
import ClarityTestSupport

@testable import Backend
@testable import BackendContract

/// 2026-11-20T06:00:00Z.
let morning = Instant(secondsSince1970: 1_795_154_400)

/// Makes a session whose tokens begin with `name` and that lasts for `life` from `morning`.
func testSession(_ name: String = "old", life: Duration = .seconds(3600)) -> Session {
    Session(
        userID: "user-1", email: "ada@example.com", accessToken: Secret("\(name)-access"),
        refreshToken: Secret("\(name)-refresh"), expiresAt: morning + life)
}

/// Makes a batch with one metric for each sample; the ids are `metric-0`, `metric-1` and so on.
func testBatch(_ samples: [Sample], route: UploadRoute = .metrics) -> UploadBatch {
    UploadBatch(
        id: "batch-1", userID: "user-1", clientTimestamp: morning,
        metrics: samples.enumerated().map {
            UploadMetric(id: "metric-\($0.offset)", sample: $0.element)
        }, route: route)
}

/// Makes a sample of one minute, from `morning` on.
func testSample(
    _ kind: SampleKind, _ value: Sample.Value = .single(1), source: String? = nil
) -> Sample {
    Sample(kind: kind, start: morning, end: morning + .seconds(60), value: value, source: source)
}

/// A night of eight hours.
let testNight = SleepNight(
    totalMinutes: 431, efficiency: 0.9, wakeCount: 3, awakeMinutes: 22, lightMinutes: 260,
    deepMinutes: 71, remMinutes: 100, minutesToSleep: 9)

/// A day with every value except VO2 max.
var testDay: ActivityDay {
    var day = ActivityDay()
    day.steps = 8012
    day.distance = 5.125
    day.activeEnergy = 310.25
    day.exerciseMinutes = 29.5
    day.flightsClimbed = 7
    day.restingHeartRate = 58
    return day
}

/// Returns a value that the kind can have: the number, or a compound value.
func testValue(_ kind: SampleKind, _ number: Double = 1) -> Sample.Value {
    switch kind {
    case .bloodPressure: .pressure(systolic: 118, diastolic: 76)
    case .sleep: .sleep(testNight)
    case .activity: .activity(testDay)
    case .mood, .stress, .cognitive:
        .values(MeasuredValues([.mood: 4, .stress: 3.5, .socialMinutes: 45], text: "calm"))
    case .workout:
        .values(
            MeasuredValues(
                [.activeMinutes: 32.5, .distance: 5.25, .activeEnergy: 310],
                text: "HKWorkoutActivityTypeRunning"))
    case .environmental: .values(MeasuredValues([.bodyTemperature: 30.5]))
    default: .single(number)
    }
}

/// Returns the body of a batch in a dialect.
func testBody(
    _ batch: UploadBatch, _ dialect: Dialect = .blueprint
) throws(APIError) -> [UInt8] {
    try dialect.endpoint(batch.route).body(batch, userID: batch.userID)
}

/// Returns the answer to an upload.
func receiptBody(accepted: Int, rejected: Int = 0, errors: String = "") -> String {
    """
    {"processing_id":"p-1","status":"processing","accepted_metrics":\(accepted),\
    "rejected_metrics":\(rejected),"validation_errors":[\(errors)],"message":"m",\
    "timestamp":"2026-11-20T06:00:00Z"}
    """
}

let newTokens = """
    {"access_token":"new-access","refresh_token":"new-refresh","token_type":"bearer",\
    "expires_in":3600}
    """

/// A client with its transport, sessions and clock in memory.
struct ClientBench {
    let transport: FakeTransport
    let sessions: MemorySessions
    let clock = ManualClock(morning)
    let client: APIClient

    init(
        _ transport: FakeTransport, dialect: Dialect = .blueprint,
        session: Session? = testSession(), sessions: MemorySessions? = nil,
        retryWait: Duration = .seconds(1)
    ) {
        self.transport = transport
        self.sessions = sessions ?? MemorySessions(session)
        client = APIClient(
            base: testBase, dialect: dialect, transport: transport, sessions: self.sessions,
            clock: clock, retryWait: retryWait)
    }

    init(
        _ script: FakeTransport.Answer..., dialect: Dialect = .blueprint,
        session: Session? = testSession()
    ) {
        self.init(
            FakeTransport { _, number in script[min(number, script.count - 1)] },
            dialect: dialect, session: session)
    }
}

/// Returns the error that `call` throws, or `nil` if it succeeds.
func failure<Value>(
    _ call: () async throws(APIError) -> Value
) async -> APIError? {
    do throws(APIError) {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}

extension StepRecording {
    /// Creates a recording of consecutive minutes from `start` on.
    init(start: Instant, counts: [Int], metadata: [String: String] = [:]) {
        self.init(
            counts.enumerated().map {
                MovementWeek.Minute(
                    start: start + .seconds(60 * Int64($0.offset)), steps: $0.element)
            }, metadata: metadata)
    }
}
