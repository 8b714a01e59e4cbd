import Testing

@testable import clarity_jobs_sandbox

@Suite struct SchemaTests {
    @Test func `a file of the first version keeps what it holds`() throws {
        let directory = try TemporaryDirectory()
        do {
            let old = try Store(directory: directory.path, version: 1)
            for sql in [
                """
                INSERT INTO users (id, email, first_name, last_name, salt, iterations, password,
                    is_verified, created_at_ms) VALUES ('u', 'e', 'a', 'b', x'', 1, x'', 1, 0)
                """,
                """
                INSERT INTO work (id, kind, user_id, state, progress, ends_in, result,
                    created_at_ms, updated_at_ms)
                VALUES ('w', 'metrics', 'u', 'received', 0, 'completed', '{}', 0, 0)
                """,
                "INSERT INTO metrics VALUES (7, 'm', 'u', 'w', 'heart_rate', 5, '{}')",
                "INSERT INTO healthkit_samples VALUES ('s', 'u', 'w', 'workouts', '{}')",
            ] {
                _ = try old.number(sql)
            }
        }

        let store = try Store(directory: directory.path)
        let metrics = try store.uploadedMetrics(after: 0, limit: 10)

        #expect(metrics.map(\.sequence) == [7])
        #expect(metrics.map(\.id) == ["m"])
        #expect(try store.number("SELECT count(*) FROM healthkit_samples WHERE copy = 0") == 1)
        #expect(try store.metricsByType().map(\.count) == [1])
    }
}
