@preconcurrency import Glibc

/// `benchmarks WORK PART`: measures one part, and writes the figures as a section of Markdown.
///
/// `Benchmarks/run` prepares the folder `WORK`; see `Surroundings`.
@main
enum Benchmarks {
    static func main() async {
        let words = CommandLine.arguments
        guard words.count == 3 else { exit(64) }
        let surroundings = Surroundings(folder: words[1])
        do {
            let section: Section
            switch words[2] {
            case "startup": section = try Startup(surroundings).measure()
            case "idle": section = try Idle(surroundings).measure()
            case "reaction": section = try Reaction(surroundings).measure()
            case "burst": section = try await Burst(surroundings).measure()
            case "steady": section = try await Steady(surroundings).measure()
            case "load": section = try Load(surroundings).measure()
            case "accounts": section = try Accounts(surroundings).measure()
            case "fleet": section = try await Fleet(surroundings).measure()
            case "loops": section = try Fleet(surroundings).measureLoops()
            case "planning": section = try Planning(surroundings).measure()
            case "history": section = try LongHistory(surroundings).measure()
            case "upload": section = try Uploading(surroundings).measure()
            case "fhir": section = try FHIRUploading(surroundings).measure()
            case "import": section = try Importing(surroundings).measure()
            case "records": section = try Records(surroundings).measure()
            case "metrics": section = try LongLife(surroundings).measure()
            default: exit(64)
            }
            print(section.markdown, terminator: "")
        } catch {
            fputs("benchmarks: \(words[2]): \(error)\n", stderr)
            exit(1)
        }
    }
}
