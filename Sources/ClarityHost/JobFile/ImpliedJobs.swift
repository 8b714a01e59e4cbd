import ClarityScheduler
import Platform

/// The jobs that sections of a job file imply.
struct ImpliedJobs {
    /// The sections of the file that imply a job, each with the kind of the job.
    private let kinds: [(section: String, kind: JobKind)]

    /// Finds them by the sections that a file has.
    init(_ catalogue: JobCatalogue, _ sections: SectionValues) {
        kinds = catalogue.sections.compactMap { section in
            guard let kind = section.impliedJob, sections[section.key] != nil else { return nil }
            return (section.key, kind)
        }
    }

    /// Reports a job that has the id of an implied job, and another kind.
    func report(takenIn jobs: [JobDeclaration.Listed], _ decoding: inout Decoding) {
        for (section, kind) in kinds
        where !jobs.contains(where: { $0.declaration.kind?.value == kind }) {
            for job in jobs where job.declaration.id?.value?.rawValue == kind.rawValue {
                decoding.report(
                    job.position,
                    "job id \(shown(kind.rawValue)) is that of the job that "
                        + "`\(section)` implies", help: "give the job another id")
            }
        }
    }

    /// Adds the job that a section implies, unless the file has one of its kind, and lets it follow
    /// each job that fails.
    ///
    /// The job has none of the file's defaults: no constraint may keep it from saying what is wrong.
    func added(to jobs: [Job], options: [String: String]) -> [Job] {
        var jobs = jobs
        for (_, kind) in kinds {
            if !jobs.contains(where: { $0.kind == kind }), let id = JobID(declared: kind.rawValue) {
                let period = Duration.seconds(15 * 60)
                jobs.append(
                    Job(
                        id: id, kind: kind, schedule: .every(period), accountSpread: period,
                        overlap: .queue, timeout: .seconds(5 * 60), options: options))
            }
            let implied = jobs.first { $0.kind == kind }?.id
            for index in jobs.indices where jobs[index].kind != kind {
                jobs[index].thenFailed += [implied].compactMap(\.self).filter {
                    !jobs[index].thenFailed.contains($0)
                }
            }
        }
        return jobs
    }
}
