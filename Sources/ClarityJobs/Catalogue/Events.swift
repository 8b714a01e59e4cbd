public import ClarityScheduler

// The events that kinds emit and that jobs may wait for. They connect jobs that do not name each
// other: a processed upload can start a job that fetches insights, and a finished analysis can
// start one that requests an insight.

extension EventName {
    /// The backend has finished with an upload.
    public static let uploadCompleted = EventName("upload-completed")
    /// The backend has finished an analysis, and its result is stored here.
    public static let analysisCompleted = EventName("analysis-completed")
    /// A requested insight is stored here.
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
