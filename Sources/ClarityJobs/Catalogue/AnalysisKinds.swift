import ClarityScheduler

// The kinds that concern analyses and insights by the backend.

extension JobKindDeclaration {
    static let processingStatus = JobKindDeclaration(
        JobKind("processing-status"),
        summary: "asks what became of uploads and analyses",
        options: [giveUpAfter], events: [.uploadCompleted, .analysisCompleted],
        addressKey: backendAddress)

    static let patAnalysis = JobKindDeclaration(
        JobKind("pat-analysis"),
        summary: "sends the newest whole week of steps, minute by minute, to be analysed",
        options: [
            OptionDeclaration(
                "minutes_needed", .integer(1...10_080), standard: "7200",
                summary: "minutes of the week's 10080 that must have data"),
            OptionDeclaration(
                "form", .choice(["auto", "steps", "actigraphy"]), standard: "auto",
                summary: "form in which the week is sent: as steps or as measurements of "
                    + "movement; `auto` uses the form that the backend analyses"),
            giveUpAfter,
        ], events: [.analysisCompleted], addressKey: backendAddress)

    static let insightGenerate = JobKindDeclaration(
        JobKind("insight-generate"),
        summary: "requests an insight about the newest analysis, once",
        options: [
            OptionDeclaration(
                "type", .choice(["comprehensive", "brief"]), standard: "comprehensive",
                summary: "how long the text is"),
            OptionDeclaration(
                "language", .text, standard: "en",
                summary: "language of the text, as a tag such as `en` or `pt-BR`"),
            OptionDeclaration(
                "recommendations", .boolean, standard: "true",
                summary: "whether the text contains recommendations"),
            OptionDeclaration(
                "context", .choice(["none", "summary"]), standard: "summary",
                summary: "what is sent with the results of the analysis: nothing, or the number "
                    + "of days and of samples"),
        ], events: [.insightGenerated], addressKey: backendAddress)

    private static let giveUpAfter = OptionDeclaration(
        "give_up_after", .duration(.seconds(1)...days(366)),
        standard: String(days(7).milliseconds),
        summary: "time without a final answer after which uploads and analyses become "
            + "`unconfirmed`")
}
