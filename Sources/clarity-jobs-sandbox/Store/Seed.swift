import JSON

/// The content of a new server: one user with a history.
struct Seed {
    /// The demo user's id, the same on every server.
    static let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"
    static let email = "demo@example.com"
    static let password = "Demo-Passw0rd!"
    static let insights = 23
    static let metrics = 12

    /// Fills a store without the demo user, completely or not at all.
    ///
    /// Identifiers depend only on the order within the seed. Dates are in the days before `now`.
    static func plant(
        in store: Store, now: Timestamp, salt: [UInt8], iterations: Int
    ) throws {
        try store.transaction {
            guard try store.account(id: user) == nil else { return }
            let account = Account(
                id: user, email: email, firstName: "Demo", lastName: "Person",
                isVerified: true, createdAt: now)
            let hash = PasswordHash(password, salt: salt, iterations: iterations)
            guard try store.add(account, hash, code: nil) else { return }
            for number in 0..<insights {
                try store.add(insight(number, now))
            }
            for number in 0..<metrics {
                _ = try store.add(metric(number, now), user: user, work: nil)
            }
        }
    }

    private static func id(_ name: String, _ number: Int) -> String {
        UUIDText.make(Array(SHA256.digest(Array("\(name) \(number)".utf8)).prefix(16)))
    }

    private static func insight(_ number: Int, _ now: Timestamp) -> Work {
        let topics = [
            ("sleep", "Go to bed within the same half hour each evening."),
            ("heart rate", "Keep two easy days between hard efforts."),
            ("activity", "Break long sitting with a short walk every hour."),
            ("recovery", "Leave the evening free of screens once a week."),
        ]
        let (topic, advice) = topics[number % topics.count]
        let made = now - .seconds(86_400 * (number + 1))
        let change = 2 + (number * 7) % 11
        let direction = number % 3 == 0 ? "below" : "above"
        let narrative = """
            This week your \(topic) was \(change) percent \(direction) the average of the four \
            weeks before. The change began in the middle of the week and is within what you have \
            had before. Nothing in it asks for action today; the next days will show whether it \
            lasts.
            """
        return Work(
            .insight, id: id("insight", number), of: user, at: made,
            result: [
                "narrative": .string(narrative),
                "key_insights": [
                    .string("\(topic) \(change) percent \(direction) average"),
                    "the change began in the middle of the week",
                ],
                "recommendations": [.string(advice)],
                "confidence_score": .number(Double(60 + (number * 13) % 36) / 100),
            ])
    }

    private static func metric(_ number: Int, _ now: Timestamp) -> AcceptedMetric {
        let kinds = [
            ("heart_rate", "heart_rate", 58 + number), ("blood_oxygen", "oxygen_saturation", 96),
            ("respiratory_rate", "respiratory_rate", 13 + number % 3),
        ]
        let (type, field, value) = kinds[number % kinds.count]
        let time = now - .seconds(21_600 * (number + 1))
        let id = id("metric", number)
        return AcceptedMetric(
            id: id, type: type, createdAt: time,
            body: [
                "metric_id": .string(id), "metric_type": .string(type),
                "biometric_data": .object([JSON.Member(name: field, value: .count(value))]),
                "device_id": "phone", "created_at": .time(time),
            ])
    }
}
