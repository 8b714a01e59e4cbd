import ClarityScheduler

// What pulls from the backend.

extension JobKindDeclaration {
    static let refresh = JobKindDeclaration(
        JobKind("refresh"),
        summary: "pulls the profile, the metrics and the latest insights",
        options: [
            OptionDeclaration(
                "page_size", .integer(1...500), standard: "100",
                summary: "rows asked for at once")
        ])

    static let insightHistory = JobKindDeclaration(
        JobKind("insight-history"),
        summary: "pulls every insight that the backend has made",
        options: [
            OptionDeclaration(
                "page_size", .integer(1...100), standard: "20",
                summary: "insights asked for at once")
        ])
}
