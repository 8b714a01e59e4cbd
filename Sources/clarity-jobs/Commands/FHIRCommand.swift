import ClarityScheduler
import ClarityHost
import HealthStore
import Platform
import Reports

/// The commands `fhir`.
struct FHIRCommand {
    private let composition: Composition
    private var arguments: Arguments { composition.arguments }

    init(_ composition: Composition) { self.composition = composition }

    func keygen() throws(CommandFailure) -> ExitStatus {
        let path = try path("out", "keygen", "a new file")
        try workOnKey("keygen", ["--kind", arguments["kind"] ?? "es384", "--out", path])
    }

    func jwks() throws(CommandFailure) -> ExitStatus {
        try workOnKey("jwks", ["--key", try path("key", "jwks", "a private key")])
    }

    private func path(
        _ option: String, _ command: String, _ what: String
    ) throws(CommandFailure) -> String {
        guard let path = arguments[option], !path.isEmpty else {
            throw CommandFailure(.usage, "`fhir \(command)` wants --\(option) FILE, \(what)")
        }
        return composition.absolute(path)
    }

    /// Becomes the worker, which has the library for keys.
    private func workOnKey(_ command: String, _ words: [String]) throws(CommandFailure) -> Never {
        try composition.exec("clarity-jobs-worker", ["fhir", command] + words, for: nil)
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

    /// Shows what each server has of the archive.
    func list() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let store = try composition.healthStore(file, as: "fhir list")
        let sums = try composition.fhirSums(file, store)
        if composition.console.form == .table, sums.isEmpty {
            composition.console.note(
                store == nil
                    ? "nothing is kept yet" : "no job of the job file sends to a FHIR server")
        }
        composition.console.results(sums)
        return .done
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

extension Composition {
    /// Returns what the server of each job of the kind `fhir-upload` has; nothing before there is
    /// health data.
    func fhirSums(
        _ file: JobFile, _ store: HealthStore?
    ) throws(CommandFailure) -> [FHIRSums] {
        guard let store else { return [] }
        var all: [FHIRSums] = []
        for job in jobs(file) where job.kind == .fhirUpload {
            let options = try readingSections { () throws(Failure) in
                try FHIRUploadOptions(job.options)
            }
            guard let patient = options.patient else { continue }
            all.append(
                try usingHealthData { () throws(HealthStoreError) in
                    try FHIRSums(job.id, options, patient, store)
                })
        }
        return all
    }
}

extension FHIRSums {
    fileprivate init(
        _ job: JobID, _ options: FHIRUploadOptions, _ patient: FHIRPatient, _ store: HealthStore
    ) throws(HealthStoreError) {
        self.init(job: job.rawValue, url: options.url)
        let content = try FHIRContent(of: store, patient, options.grain, types: options.typeNames)
        (records, others) = try content.records()
        for (type, sums) in try SentLedger(store, of: job, at: options.receiver).sums()
        where type != "devices" {
            there += sums
        }
        answered = there.records
        refused = options.grain == .single ? there.refused : 0
    }
}
