import ClarityScheduler

// The kinds that concern analyses and insights by the backend.

extension JobKindDeclaration {
    static let processingStatus = JobKindDeclaration(
        JobKind("processing-status"),
        summary: "asks what became of accepted uploads and analyses",
        options: [giveUpAfter], events: [.uploadCompleted, .analysisCompleted],
        addressKey: backendAddress)

    static let patAnalysis = JobKindDeclaration(
        JobKind("pat-analysis"),
        summary: "has the newest whole week of steps analysed, minute by minute",
        options: [
            OptionDeclaration(
                "minutes_needed", .integer(1...10_080), standard: "7200",
                summary: "how many of the week's 10080 minutes must be known"),
            OptionDeclaration(
                "form", .choice(["auto", "steps", "actigraphy"]), standard: "auto",
                summary: "the form in which the week is sent: as steps or as measurements of "
                    + "movement; `auto` takes the one that the backend analyses"),
            giveUpAfter,
        ], events: [.analysisCompleted], addressKey: backendAddress)

    static let insightGenerate = JobKindDeclaration(
        JobKind("insight-generate"),
        summary: "has an insight made of the newest analysis",
        options: [
            OptionDeclaration(
                "type", .choice(["comprehensive", "brief"]), standard: "comprehensive",
                summary: "how much is written"),
            OptionDeclaration(
                "language", .text, standard: "en",
                summary: "in which language, as a tag such as `en` or `pt-BR`"),
            OptionDeclaration(
                "recommendations", .boolean, standard: "true",
                summary: "whether recommendations are wanted"),
            OptionDeclaration(
                "context", .choice(["none", "summary"]), standard: "summary",
                summary: "what goes along with the numbers of the analysis: nothing, or days and "
                    + "counts of samples"),
        ], events: [.insightGenerated], addressKey: backendAddress)

    private static let giveUpAfter = OptionDeclaration(
        "give_up_after", .duration(.seconds(1)...days(366)),
        standard: String(days(7).milliseconds),
        summary: "how long something may stay unfinished before it counts as unconfirmed")
}
