import ClarityScheduler

// The kinds that pull from the backend.

extension JobKindDeclaration {
    static let refresh = JobKindDeclaration(
        JobKind("refresh"),
        summary: "pulls the profile, the latest insights and the metrics that changed",
        options: [
            OptionDeclaration(
                "page_size", .integer(1...500), standard: "100",
                summary: "rows asked for at once"),
            OptionDeclaration(
                "whole_every", .duration(.seconds(3600)...days(366)),
                standard: String(days(7).milliseconds),
                summary: "how often all metrics are gone through, for what changed long after "
                    + "it was measured"),
        ], addressKey: backendAddress)

    static let insightHistory = JobKindDeclaration(
        JobKind("insight-history"),
        summary: "pulls every insight that the backend has made",
        options: [
            OptionDeclaration(
                "page_size", .integer(1...100), standard: "20",
                summary: "insights asked for at once"),
            OptionDeclaration(
                "full_texts", .integer(0...1000), standard: "50",
                summary: "the most full texts fetched in one run, where the backend has them"),
        ], addressKey: backendAddress)
}
