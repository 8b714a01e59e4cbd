public import ClarityScheduler

// What the kinds tell of and jobs may wait for.

extension EventName {
    /// The backend is done with an upload.
    public static let uploadCompleted = EventName("upload-completed")
    /// The backend is done with an analysis, and its result is here.
    public static let analysisCompleted = EventName("analysis-completed")
    /// An insight that was asked for is here.
    public static let insightGenerated = EventName("insight-generated")
}

extension EventDeclaration {
    static let uploadCompleted = EventDeclaration(
        .uploadCompleted, summary: "the backend is done with an upload")

    static let analysisCompleted = EventDeclaration(
        .analysisCompleted, summary: "the result of an analysis is here")

    static let insightGenerated = EventDeclaration(
        .insightGenerated, summary: "an insight that was asked for is here")
}
