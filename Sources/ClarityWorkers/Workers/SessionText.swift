public import ClarityJobs
import ClarityScheduler

// Who is logged in, for people and for programs; the tokens are in neither.

extension Session {
    /// `logged in as you@example.com (USER-ID) until 2026-11-20T06:00:00Z`
    public var sentence: String {
        "logged in as \(email) (\(userID)) until \(expiresAt)".forReport
    }

    /// An object with `email`, `user_id` and `expires_at`, when the access token ends.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field("email", email)
            json.field("user_id", userID)
            json.field("expires_at", expiresAt.description)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
