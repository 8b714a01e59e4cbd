import HealthStore
import Glibc

/// `benchmark-records STATE TYPE ROUNDS`: reads the month in the middle of all months of a type.
///
/// It prints the first second of the month and that of the next, the number of records and, for each
/// round, the microseconds that decrypting and decoding them took.
@main
enum BenchmarkRecords {
    static func main() throws {
        let words = CommandLine.arguments
        guard words.count == 4, let rounds = Int(words[3]) else { exit(64) }
        let store = try HealthStore(
            stateDirectory: words[1],
            environment: [
                "CLARITY_JOBS_KEY": getenv("CLARITY_JOBS_KEY").map { String(cString: $0) } ?? ""
            ])
        let archive = store.archive
        guard let type = try archive.types().first(where: { $0.name == words[2] }) else { exit(66) }
        let month = TypeMonth(type: type.name, month: type.months[type.months.count / 2])
        print(month.seconds.lowerBound, month.seconds.upperBound)
        // The first round does not count.
        for round in 0...rounds {
            let begun = ContinuousClock.now
            let records = try archive.records(of: month).sound.records
            let sum = records.reduce(0) { $0 &+ $1.start }
            let passed = ContinuousClock.now - begun
            guard sum != 0 else { exit(65) }
            print(round == 0 ? records.count : Int(passed / .microseconds(1)))
        }
    }
}
