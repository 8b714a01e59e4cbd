import ClarityScheduler

// The kinds that upload samples to the backend.

extension JobKindDeclaration {
    static let bulkUpload = JobKindDeclaration(
        JobKind("bulk-upload"),
        summary: "reads the sources and sends what the backend does not have yet",
        options: [
            OptionDeclaration(
                "batch_size", .integer(1...1000),
                summary: "samples sent at once; without it as many as the backend takes"),
            OptionDeclaration(
                "route", .choice(["auto", "metrics", "samples"]), standard: "auto",
                summary: "the backend's endpoint for samples: for typed metrics or for samples of "
                    + "HealthKit; `auto` chooses for each kind one that accepts it"),
            OptionDeclaration(
                "on_ambiguous", .choice(["resend", "hold"]), standard: "resend",
                summary: "what becomes of samples that may have arrived where a second send "
                    + "doubles them: sent again and counted, or set aside for you"),
            OptionDeclaration(
                "metered_budget", .size((64 << 10)...(1 << 40)),
                summary:
                    "what may be sent over a metered connection in 24 h; without it there is no "
                    + "limit"),
            OptionDeclaration(
                "large_upload", .integer(0...1_000_000_000), standard: "500",
                summary: "when more samples wait than this, they wait for external power; 0 never"),
        ], heedsConditions: true, addressKey: backendAddress, isSingle: true)
}
