import ClarityScheduler

// The kinds that pull from the backend.

extension JobKindDeclaration {
    static let refresh = JobKindDeclaration(
        JobKind("refresh"),
        summary: "fetches the profile, the latest insights and changed metrics",
        options: [
            OptionDeclaration(
                "page_size", .integer(1...500), standard: "100",
                summary: "rows in one request"),
            OptionDeclaration(
                "whole_every", .duration(.seconds(3600)...days(366)),
                standard: String(days(7).milliseconds),
                summary: "how often all metrics are fetched again, to find those that changed "
                    + "long after they were measured"),
        ], addressKey: backendAddress)

    static let insightHistory = JobKindDeclaration(
        JobKind("insight-history"),
        summary: "fetches every insight that the backend has made",
        options: [
            OptionDeclaration(
                "page_size", .integer(1...100), standard: "20",
                summary: "insights in one request"),
            OptionDeclaration(
                "full_texts", .integer(0...1000), standard: "50",
                summary: "maximum number of full texts that a run fetches, if the backend has "
                    + "them"),
        ], addressKey: backendAddress)
}
