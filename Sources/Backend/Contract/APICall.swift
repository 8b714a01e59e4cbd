/// A request to a backend, whatever path and form its dialect gives it.
public enum APICall: String, CaseIterable, Hashable, Sendable {
    case register, login, refresh, logout
    case me, updateMe
    case verifyEmail, resendVerification, forgotPassword, resetPassword
    case uploadMetrics, metricsStatus, healthData, deleteHealthData
    case uploadSamples, samplesStatus
    case analyseSteps, analyseActigraphy, analysis, actigraphyHealth
    case generateInsight, insight, insightHistory, insightStatus
    case serviceHealth
    /// The request that distinguishes the dialects; no dialect has to offer it.
    case greeting

    /// The name of the call for people; not part of any wire format.
    package var name: String {
        switch self {
        case .register: "registration"
        case .login: "login"
        case .refresh: "session renewal"
        case .logout: "logout"
        case .me: "account"
        case .updateMe: "account change"
        case .verifyEmail: "e-mail verification"
        case .resendVerification: "verification mail"
        case .forgotPassword: "password mail"
        case .resetPassword: "password reset"
        case .uploadMetrics, .uploadSamples: "upload"
        case .metricsStatus, .samplesStatus: "processing status"
        case .healthData: "health data"
        case .deleteHealthData: "health data removal"
        case .analyseSteps: "step analysis"
        case .analyseActigraphy: "actigraphy analysis"
        case .analysis: "analysis"
        case .actigraphyHealth: "actigraphy health"
        case .generateInsight: "insight generation"
        case .insight: "insight"
        case .insightHistory: "insights"
        case .insightStatus: "insight status"
        case .serviceHealth: "service health"
        case .greeting: "greeting"
        }
    }
}

extension StringProtocol {
    /// An address to whose end a path can be added: without the slashes that it may end in.
    package var withoutSlashAtEnd: String {
        String(reversed().drop { $0 == "/" }.reversed())
    }
}

/// The methods that the client uses.
public enum HTTPMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}
