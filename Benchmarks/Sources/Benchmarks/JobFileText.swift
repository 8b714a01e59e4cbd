/// Makes job files for measurements.
enum JobFileText {
    /// Returns a job file with these jobs, each in YAML's flow style.
    static func jobs(_ jobs: [String], source: String = "/nonexistent/export.xml") -> String {
        """
        version: 1
        backend: { url: "http://127.0.0.1:9/api/v1" }
        sources:
          - { kind: apple-health-export, path: "\(source)" }
        jobs:

        """ + jobs.map { "  - \($0)\n" }.joined()
    }

    /// Returns a job file with `count` jobs of several kinds, with various schedules and
    /// constraints.
    static func mixed(_ count: Int) -> String {
        let kinds = ["refresh", "bulk-upload", "processing-status", "insight-history", "cleanup"]
        let constraints = [
            "{ network: any }", "{ network: unmetered, battery_above: 20%, idle: true }",
            "{ external_power: true }", "{ storage_free: 1GiB, pressure_below: 90% }", "{}",
            "{ not_low_power: true, network: not_roaming }",
        ]
        return jobs(
            (0..<count).map { number in
                let schedule =
                    number % 3 == 0
                    ? "{ cron: \"\(number % 60) \(number % 24) * * *\", time_zone: Europe/London }"
                    : "{ every: 24h }"
                return "{ id: job-\(number), kind: \(kinds[number % kinds.count]), schedule: "
                    + "\(schedule), constraints: \(constraints[number % constraints.count]) }"
            })
    }
}
