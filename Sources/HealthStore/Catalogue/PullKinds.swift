public import ClarityScheduler

// The kinds that pull from the backend.

extension JobKind {
    public static let refresh = JobKind("refresh")
    public static let insightHistory = JobKind("insight-history")
}

/// The options of the kind `refresh`.
public struct RefreshOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .refresh,
        summary: "fetches the profile, the latest insights and changed metrics",
        options: declarations, addressKey: backendAddress)

    public var pageSize = 100
    public var wholeEvery = days(7)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("page_size", .integer(1...500), &pageSize, "rows in one request")
        fields.add(
            "whole_every", .duration(.seconds(3600)...days(366)), &wholeEvery,
            "how often all metrics are fetched again, to find those that changed long "
                + "after they were measured")
    }
}

/// The options of the kind `insight-history`.
public struct InsightHistoryOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .insightHistory,
        summary: "fetches every insight that the backend has made",
        options: declarations, addressKey: backendAddress)

    public var pageSize = 20
    public var fullTexts = 50

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("page_size", .integer(1...100), &pageSize, "insights in one request")
        fields.add(
            "full_texts", .integer(0...1000), &fullTexts,
            "maximum number of full texts that a run fetches, if the backend has them")
    }
}
