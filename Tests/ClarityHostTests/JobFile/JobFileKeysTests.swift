import Testing

@testable import ClarityHost

@Suite struct JobFileKeysTests {
    /// Returns all keys at and below a form with their paths, such as `jobs[].retry.attempts`.
    private func keys(of value: ValueDescription, at path: String) -> [(
        path: String, KeyDescription
    )] {
        switch value {
        case .mapping(let keys):
            keys.flatMap { key in
                [(path + key.name, key)] + self.keys(of: key.value, at: path + key.name + ".")
            }
        case .list(let element):
            keys(of: element, at: path.dropLast() + "[].")
        case .entries(_, let element):
            keys(of: element, at: path.dropLast() + "{}.")
        case .variants(_, let variants):
            variants.keys.sorted().flatMap { name in
                keys(of: .mapping(variants[name] ?? []), at: "\(path.dropLast())<\(name)>.")
            }
        case .either(let one, let other):
            keys(of: one, at: path) + keys(of: other, at: path)
        default:
            []
        }
    }

    @Test func `the declarations describe every key that a file may have`() {
        let schema = FileDeclaration.schema(JobFileSamples.catalogue)

        let keys = keys(of: .mapping(schema.descriptions), at: "")

        let paths = keys.map(\.path)
        #expect(
            paths.filter { !$0.contains(".") } == [
                "version", "store", "defaults", "metrics_textfile", "conditions", "labels",
                "checks", "groups", "jobs", "accounts", "backend", "sources", "limits",
            ])
        for path in [
            "store.directory", "store.history.keep_runs", "jobs[].catch_up.at_most",
            "defaults.max_parallel", "defaults.constraints.storage_free",
            "defaults.time_zone", "jobs[].id", "jobs[].schedule.earliest_begin",
            "jobs[].schedule.calendar", "jobs[].schedule.randomized_delay",
            "conditions.interfaces", "conditions.idle.load_below", "conditions.probe",
            "checks{}.command", "checks{}.valid_for", "jobs[].constraints.window",
            "jobs[].constraints.unknown.idle", "defaults.constraints.check",
            "jobs[].retry.attempts", "jobs[].constraints.network", "jobs[].then",
            "jobs[].options<refresh>.page_size", "backend.url",
            "sources[]<spool>.recursive", "sources[]<spool>.kind", "accounts[].time_zone",
            "accounts[].jobs{}.schedule.every", "accounts[].constraints.network",
            "jobs[].machine", "defaults.machine", "accounts[].machine",
        ] {
            #expect(paths.contains(path), "\(path)")
        }
        #expect(
            keys.filter { $0.1.isRequired && !$0.path.hasPrefix("accounts[].jobs{}.") }
                .map(\.path) == [
                    "version", "defaults.on_lost.finish_within", "defaults.relax[].after",
                    "defaults.relax[].drop", "conditions.idle.load_below", "jobs", "jobs[].id",
                    "jobs[].kind",
                    "jobs[].on_lost.finish_within", "jobs[].relax[].after", "jobs[].relax[].drop",
                    "jobs[].options<command>.program", "accounts[].id",
                    "backend.url", "sources[]<apple-health-export>.kind",
                    "sources[]<apple-health-export>.path", "sources[]<spool>.kind",
                    "sources[]<spool>.path",
                ])
        #expect(
            keys.filter { if case .entries = $0.1.value { true } else { false } }.map(\.path)
                == ["conditions.interfaces", "checks", "groups", "accounts[].jobs"])
        #expect(keys.allSatisfy { !$0.1.summary.isEmpty })
        #expect(Set(paths).count == paths.count)
    }
}
