import ClarityJobs
import ClarityScheduler
import ClaritySources

/// Moves away the files that were read from spool folders, and notes those with bad samples.
struct SpoolSettling {
    private let context: WorkContext
    private var counts: WorkCounts?
    private var rejected: [String: Int] = [:]

    init(_ context: WorkContext) { self.context = context }

    /// Settles a file whose samples are in the outbox; a dry run leaves it where it is.
    mutating func settle(_ file: SpoolSource) -> Failure? {
        guard !context.isRehearsal else {
            file.leave()
            return nil
        }
        var counts = counts ?? WorkCounts(context)
        defer { self.counts = counts }
        do throws(SourceError) {
            switch try file.settle() {
            case .done: counts.add(1, to: "files_done")
            case .rejected:
                counts.add(1, to: "files_rejected")
                rejected[file.name, default: 0] += 1
            case .waiting: break
            }
            return nil
        } catch {
            return error.failure
        }
    }

    /// Notes how many files of each folder have bad samples.
    func note() {
        for (folder, count) in rejected.sorted(by: { $0.key < $1.key }) {
            context.note(
                "`\(folder)`: \(count) \(count == 1 ? "file has" : "files have") bad samples; "
                    + "see `\(SpoolFolder.rejectedName)` in it")
        }
    }
}
