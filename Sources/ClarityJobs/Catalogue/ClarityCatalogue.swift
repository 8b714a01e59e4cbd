public import ClarityScheduler

/// The kinds, sections and events that CLARITY's job files may use.
///
/// It contains only data: the job file reader checks against it, and the workers read the parsed
/// options.
public let clarityCatalogue = JobCatalogue(
    kinds: [
        .refresh, .bulkUpload, .processingStatus, .patAnalysis, .insightGenerate,
        .insightHistory, .cleanup, .auditUpload,
    ],
    sections: [.backend, .key, .sources, .fresh],
    events: [.uploadCompleted, .analysisCompleted, .insightGenerated])

/// The name of the backend's address among a job's options.
let backendAddress = "backend.url"

func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
