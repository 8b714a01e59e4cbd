public import ClarityScheduler

/// The options of a kind of job, and what the scheduler knows of the kind.
///
/// The work of a kind is in a module that the scheduler does not link, in an extension of this type
/// that names its worker.
public protocol KindOptions: DeclaredOptions {
    static var declaration: JobKindDeclaration { get }
}

extension KindOptions {
    /// The declaration, by which the reader of job files refuses what a worker would refuse.
    fileprivate static var checkedDeclaration: JobKindDeclaration {
        var declaration = declaration
        declaration.fault = { values in
            do throws(Failure) {
                _ = try Self(values)
                return nil
            } catch {
                return error.reason
            }
        }
        return declaration
    }
}

/// All kinds of jobs, in the order of the documentation. This is the only list of them.
public let clarityKinds: [any KindOptions.Type] = [
    ImportingOptions.self, RefreshOptions.self, BulkUploadOptions.self,
    ProcessingStatusOptions.self, PatAnalysisOptions.self, InsightGenerateOptions.self,
    InsightHistoryOptions.self, CleanupOptions.self, AuditUploadOptions.self,
    ExportDataOptions.self, PublishOptions.self, FHIRUploadOptions.self, NotifyOptions.self,
]

/// The kinds, sections and events that CLARITY's job files may use.
///
/// It contains only data: the job file reader checks against it, and the workers read the parsed
/// options.
public let clarityCatalogue = JobCatalogue(
    kinds: clarityKinds.map { $0.checkedDeclaration },
    sections: [.backend, .key, .sources, .fresh, .notify, .assistant],
    events: [.uploadCompleted, .analysisCompleted, .insightGenerated])

/// The name of the backend's address among a job's options.
public let backendAddress = "backend.url"

extension AttemptOrder {
    /// The variables and credentials with the secrets of the order's job and of its targets.
    public var secretNames: [String] {
        get throws(Failure) {
            let own = clarityCatalogue.kinds.first { $0.kind == kind }
            return try SectionValues(options).targets.compactMap(\.secretName)
                + (own?.secretNames(in: options) ?? [])
        }
    }
}

func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }

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
