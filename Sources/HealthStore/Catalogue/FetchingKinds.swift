public import HealthModel
public import ClarityScheduler

// The kinds that concern analyses and insights by the backend.

extension JobKind {
    public static let processingStatus = JobKind("processing-status")
    public static let patAnalysis = JobKind("pat-analysis")
    public static let insightGenerate = JobKind("insight-generate")
}

/// The options of the kind `processing-status`.
public struct ProcessingStatusOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .processingStatus,
        summary: "asks what became of uploads and analyses",
        options: declarations,
        events: [.uploadCompleted, .analysisCompleted], addressKey: backendAddress)

    public var giveUpAfter = days(7)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "give_up_after", .duration(.seconds(1)...days(366)), &giveUpAfter,
            "time without a final answer after which uploads and analyses become "
                + "`unconfirmed`")
    }
}

/// The options of the kind `pat-analysis`.
public struct PatAnalysisOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .patAnalysis,
        summary: "sends the newest whole week of steps, minute by minute, to be analysed",
        options: declarations, events: [.analysisCompleted],
        addressKey: backendAddress)

    public var minutesNeeded = 7200
    /// The form in which the week is sent; `nil` means the one that the backend analyses.
    public var form: AnalysisForm?
    public var polling = ProcessingStatusOptions()

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "minutes_needed", .integer(1...10_080), &minutesNeeded,
            "minutes of the week's 10080 that must have data")
        fields.add(
            "form", &form, otherwise: "auto",
            "form in which the week is sent: as steps or as measurements of movement; "
                + "`auto` uses the form that the backend analyses")
        polling.declare(in: &fields)
    }
}

/// The options of the kind `insight-generate`.
public struct InsightGenerateOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .insightGenerate,
        summary: "requests an insight about the newest analysis, once",
        options: declarations, events: [.insightGenerated],
        addressKey: backendAddress)

    public enum Length: String, CaseIterable, Sendable {
        case comprehensive, brief
    }

    /// What is sent along with the numbers of the analysis.
    public enum Context: String, CaseIterable, Sendable {
        case none, summary
    }

    public var length = Length.comprehensive
    /// A tag of letters, digits and `-`, at most 35 characters long (RFC 5646, section 4.4.1).
    public var language = "en"
    public var includesRecommendations = true
    public var context = Context.summary

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("type", &length, "how long the text is")
        fields.add(
            "language", .text, &language, "language of the text, as a tag such as `en` or `pt-BR`")
        let words = language.utf8.split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isTag =
            language.utf8.count <= 35 && (2...8).contains(words[0].count)
            && words.allSatisfy { word in
                (1...8).contains(word.count) && word.allSatisfy(\.isLetterOrDigit)
            }
        if !isTag {
            fields.refuse("option `language` is no language tag such as `en` or `pt-BR`")
        }
        fields.add(
            "recommendations", .boolean, &includesRecommendations,
            "whether the text contains recommendations")
        fields.add(
            "context", &context,
            "what is sent with the results of the analysis: nothing, or the number of "
                + "days and of samples")
    }
}

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
