import Platform

/// `exporter`: serves metrics to Prometheus, in a program of its own.
struct ExporterCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> Never {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`exporter` takes no operands")
        }
        let file = try composition.jobFile()
        try composition.exec(
            "clarity-jobs-web",
            ["exporter"] + (try composition.exporterWords(file))
                + [composition.arguments["listen"] ?? "127.0.0.1:9187"],
            for: file)
    }
}
