public import ClarityScheduler

// The kinds that pull from the backend.

extension JobKindDeclaration {
    static let refresh = JobKindDeclaration(
        JobKind("refresh"),
        summary: "pulls the profile, the latest insights and the metrics that changed",
        options: RefreshOptions.declarations, addressKey: backendAddress)

    static let insightHistory = JobKindDeclaration(
        JobKind("insight-history"),
        summary: "pulls every insight that the backend has made",
        options: InsightHistoryOptions.declarations, addressKey: backendAddress)
}

/// The options of the kind `refresh`.
public struct RefreshOptions: DeclaredOptions {
    public var pageSize = 100
    public var wholeEvery = days(7)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("page_size", .integer(1...500), &pageSize, "rows asked for at once")
        fields.add(
            "whole_every", .duration(.seconds(3600)...days(366)), &wholeEvery,
            "how often all metrics are gone through, for what changed long after it was measured")
    }
}

/// The options of the kind `insight-history`.
public struct InsightHistoryOptions: DeclaredOptions {
    public var pageSize = 20
    public var fullTexts = 50

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("page_size", .integer(1...100), &pageSize, "insights asked for at once")
        fields.add(
            "full_texts", .integer(0...1000), &fullTexts,
            "the most full texts fetched in one run, where the backend has them")
    }
}
