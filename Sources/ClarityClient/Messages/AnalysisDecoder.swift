import ClarityContract
import ClarityScheduler

extension AnswerReader {
    /// Reads the result of a registration.
    func registration(_ body: [UInt8]) throws(APIError) -> RegistrationResult {
        let wire = try decode(RegistrationWire.self, from: body)
        guard wire.userID != nil || wire.accessToken != nil || wire.needsVerification != nil else {
            throw .decoding("\(call): it says neither `user_id` nor what is to be done")
        }
        return RegistrationResult(
            userID: wire.userID,
            needsVerification: wire.needsVerification ?? (wire.status == "pending_verification"))
    }

    /// Reads an account.
    func profile(_ body: [UInt8]) throws(APIError) -> UserProfile {
        try decode(UserWire.self, from: body).profile
    }

    /// Reads an insight that is finished or still being made.
    func insight(_ body: [UInt8]) throws(APIError) -> Insight {
        let wire = try decode(InsightWire.self, from: body)
        let state: Insight.State =
            switch wire.data.status {
            case "generating": .generating
            case "failed": .failed
            default: wire.success ? .completed : .failed
            }
        return Insight(
            id: wire.data.id, state: state,
            generatedAt: wire.data.generatedAt.flatMap { Instant(rfc3339: $0) },
            json: Array(JSONSlices.value(of: body, at: ["data"]) ?? []))
    }

    /// Reads the state of an analysis.
    func analysis(_ body: [UInt8]) throws(APIError) -> Analysis {
        let wire = try decode(AnalysisWire.self, from: body)
        return Analysis(
            id: wire.id, state: Analysis.State(rawValue: wire.status) ?? .other,
            isCached: wire.cached ?? false, json: body)
    }

    /// Reads the health of a service.
    func health(_ body: [UInt8]) throws(APIError) -> ServiceHealth {
        let wire = try decode(HealthWire.self, from: body)
        return ServiceHealth(
            isHealthy: wire.status == "healthy", service: wire.service.flatMap(FaultReport.plain),
            version: wire.version.flatMap(FaultReport.plain))
    }
}
