// Another program's jobs on the same engine: `house-jobs JOB_FILE STATE_DIRECTORY` runs the jobs of
// a house that are due, once, and prints what each waiting job waits for. Run it from cron, or run
// the scheduler until `.drained` instead of `.idle` to keep it going.
import ClarityHost
import ClarityScheduler

let litres = OptionDeclaration("litres", .integer(0...500), default: "5", summary: "of water")

/// The kinds, options and sections that a job file of this house may use.
let house = JobCatalogue(
    kinds: [
        JobKindDeclaration(
            JobKind("water"), summary: "waters a bed",
            options: [
                OptionDeclaration("bed", .text, isRequired: true, summary: "which"), litres,
            ]),
        JobKindDeclaration(JobKind("count-photos"), summary: "counts the photos to be backed up"),
    ],
    sections: [SectionDeclaration("tank", .mapping([litres]))])

/// Does the work in this process; the order holds everything that it may know.
struct Housekeeper: Worker {
    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (Int64, Int64) -> Void
    ) async -> AttemptEnd {
        var end = AttemptEnd(.reported(.success))
        let wanted = Int64(order.options["litres"] ?? "") ?? 0
        switch order.kind.rawValue {
        case "water" where wanted > Int64(order.options["tank.litres"] ?? "") ?? 0:
            end.result = .reported(.retry(after: nil, Failure(.work, "the tank is too empty")))
        case "water":
            end.tally["litres_given"] = wanted
            end.notes = ["watered the \(order.options["bed"] ?? "garden")"]
        default: end.tally["photos_found"] = 0
        }
        return end
    }
}

@main
enum HouseJobs {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 3 else { return print("usage: house-jobs JOB_FILE STATE_DIRECTORY") }
        let file = try JobFileReader(catalogue: house).read(fileAt: words[1])
        let state = words[2]
        var scheduler = try Scheduler(file, stateDirectory: state, worker: Housekeeper()) {
            guard case .put(let run) = $0, run.state != .running, run.attempts > 0 else { return }
            print("\(run.job): \(run.state.rawValue): \(run.failure?.reason ?? run.tally.summary)")
        }
        for wait in try await scheduler.run(until: .idle).waiting {
            print("\(wait.job) waits for: \(wait.deferrals.map(\.subject).joined(separator: ", "))")
        }
    }
}
