import ClarityScheduler

// The kinds that upload samples to the backend.

extension JobKindDeclaration {
    static let bulkUpload = JobKindDeclaration(
        JobKind("bulk-upload"),
        summary: "reads the sources and sends what the backend does not have yet",
        options: [
            OptionDeclaration(
                "batch_size", .integer(1...1000),
                summary: "samples in one request; without it as many as the backend accepts"),
            OptionDeclaration(
                "route", .choice(["auto", "metrics", "samples"]), standard: "auto",
                summary: "endpoint for samples: typed metrics or HealthKit samples; `auto` "
                    + "chooses one that accepts the sample's kind"),
            OptionDeclaration(
                "on_ambiguous", .choice(["resend", "hold"]), standard: "resend",
                summary: "what happens to samples that may already be stored if the backend does "
                    + "not deduplicate: send them again and count them, or set them aside for you"),
            OptionDeclaration(
                "metered_budget", .size((64 << 10)...(1 << 40)),
                summary: "maximum to send over a metered connection in 24 h; without it there is "
                    + "no limit"),
            OptionDeclaration(
                "large_upload", .integer(0...1_000_000_000), standard: "500",
                summary: "an upload of more samples than this waits for external power; 0 never "
                    + "waits"),
        ], heedsConditions: true, addressKey: backendAddress, isSingle: true)
}
