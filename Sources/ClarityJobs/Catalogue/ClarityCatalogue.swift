public import ClarityScheduler

/// What CLARITY's job files may name: the kinds of job, the `backend`, the `sources` and the `key`.
///
/// Data only: the job file's reader checks against it, and the workers read what it hands on.
public let clarityCatalogue = JobCatalogue(
    kinds: [
        .refresh, .bulkUpload, .processingStatus, .patAnalysis, .insightGenerate,
        .insightHistory, .cleanup, .auditUpload,
    ],
    sections: [.backend, .key, .sources, .fresh],
    events: [.uploadCompleted, .analysisCompleted, .insightGenerated])

/// The key of the backend's address among a job's options.
let backendAddress = "backend.url"

func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
