import ClarityScheduler
import HealthStore
import Platform

/// The commands `fhir`.
struct FHIRCommand {
    private let composition: Composition
    private var arguments: Arguments { composition.arguments }

    init(_ composition: Composition) { self.composition = composition }

    /// Becomes the worker, which has the library that makes keys.
    func keygen() throws(CommandFailure) -> ExitStatus {
        guard let path = arguments["out"], !path.isEmpty else {
            throw CommandFailure(.usage, "`fhir keygen` wants --out FILE, a new file")
        }
        try composition.exec(
            "clarity-jobs-worker",
            [
                "fhir", "keygen", "--kind", arguments["kind"] ?? "es384", "--out",
                composition.absolute(path),
            ], for: nil)
    }

    /// Becomes the worker, which asks the server.
    func verify() throws(CommandFailure) -> ExitStatus {
        try review("verify", arguments.has("settle") ? ["--settle"] : [])
    }

    /// Becomes the worker, which asks the person, and deletes at the server.
    func erase() throws(CommandFailure) -> ExitStatus {
        let types = arguments["types"].map { ["--types", $0] } ?? []
        return try review("erase", types + (arguments.has("yes") ? ["--yes"] : []))
    }

    private func review(
        _ action: String, _ words: [String]
    ) throws(CommandFailure) -> ExitStatus {
        guard arguments.operands.count == 1 else {
            throw CommandFailure(
                .usage, "`fhir \(action)` wants one job, got \(arguments.operands.count)")
        }
        var since: [String] = []
        if let month = arguments["since"] {
            guard isMonth(month) else {
                throw CommandFailure(.usage, "--since is a month such as `2026-01`, got `\(month)`")
            }
            since = ["--since", month]
        }
        let file = try composition.jobFile()
        let declared = try composition.job(named: arguments.operands[0], in: file)
        guard declared.kind == .fhirUpload else {
            throw CommandFailure(
                .usage,
                "job `\(declared.id)` is of the kind `\(declared.kind)`; "
                    + "`fhir \(action)` wants one of `fhir-upload`")
        }
        guard let job = composition.jobs(file).first(where: { $0.id == declared.id }) else {
            throw CommandFailure(.usage, "job `\(declared.id)` is not planned")
        }
        _ = try composition.ownState(file)
        let order = AttemptOrder(
            run: RunID(0), job: job.id, kind: job.kind, attempt: 1, fencingToken: 1,
            scheduledFor: composition.clock.now, timeout: .zero, warning: .zero,
            memoryLimitBytes: 0, options: job.options)
        try composition.becomeWorker(["fhir", action] + words + since, order, for: file)
    }

    private func isMonth(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 4, parts[1].count == 2, Int(parts[0]) != nil,
            let month = Int(parts[1])
        else { return false }
        return (1...12).contains(month)
    }
}
