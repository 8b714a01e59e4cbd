import ClarityJobs
import ClarityScheduler
import HealthStore
import JSON
import Platform
import Reports

/// What the commands `fhir` do that need libcrypto or the HTTP client.
enum FHIRMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "keygen":
            guard let flags = Flags(rest, values: ["kind", "out"]),
                let kind = flags["kind"].flatMap({ SigningKey.Kind(rawValue: $0) }),
                let path = flags["out"]
            else { break }
            return printKey { () throws(Failure) in
                let key = try SigningKey(kind)
                try key.write(to: path)
                return key
            }
        case "jwks":
            guard let flags = Flags(rest, values: ["key"]), let path = flags["key"] else { break }
            return printKey { () throws(Failure) in
                try SigningKey(try SigningKey.text(of: path), from: "`\(path)`")
            }
        case "verify":
            guard
                let flags = Flags(rest, values: ["since", "output"], switches: ["settle"])
            else { break }
            return await reviewing(isErasing: false) { try await verify($0, flags) }
        case "erase":
            guard
                let flags = Flags(rest, values: ["types", "since", "output"], switches: ["yes"])
            else { break }
            return await reviewing(isErasing: true) { try await erase($0, flags) }
        default: break
        }
        return Program.usageError("expected `fhir` with a command and its options")
    }

    /// Prints the public half of a key for the server's administrator.
    private static func printKey(_ key: () throws(Failure) -> SigningKey) -> ExitStatus {
        do throws(Failure) {
            let keys: JSON = ["keys": [try key().jwk]]
            print(keys.page)
            return .done
        } catch {
            return ExitStatus(.failure(error))
        }
    }

    /// Does something with the job of an order and its server.
    private static func reviewing(
        isErasing: Bool, _ body: (FHIRReview) async throws -> ExitStatus
    ) async -> ExitStatus {
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let environment = try keyAndSecrets(for: order)
            let store = try HealthStore(
                stateDirectory: try order.sections.state.directory, environment: environment,
                actor: AuditActor(program: "fhir"))
            return try await body(
                FHIRReview(
                    order, store, isErasing: isErasing, version: programVersion,
                    environment: environment, clock: SystemClock()))
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func verify(_ review: FHIRReview, _ flags: Flags) async throws -> ExitStatus {
        let comparison = try await review.comparison(
            since: flags["since"], settles: flags.has("settle"))
        flags.format.print(comparison.object) { comparison.lines }
        return comparison.isWhole ? .done : .failed
    }

    /// Deletes at the server what was sent, once a person agrees.
    private static func erase(_ review: FHIRReview, _ flags: Flags) async throws -> ExitStatus {
        let types = flags["types"]?.split(separator: ",").map(String.init) ?? []
        let plan = try review.erasure(types: types, since: flags["since"])
        guard plan.total > 0 else {
            flags.format.print(plan.object) { ["nothing of this was sent, so nothing is deleted"] }
            return .done
        }
        if !flags.has("yes") {
            guard let terminal = Terminal() else {
                plan.question.forEach { printError("  \($0)") }
                complain("there is no terminal to ask on; use --yes to delete these")
                return .usage
            }
            let question = plan.question.joined(separator: "\n") + "\nDelete them? [y/N] "
            guard terminal.agrees(to: question) else {
                complain("nothing was done")
                return .failed
            }
        }
        let result = try await review.erase(types: types, since: flags["since"], plan)
        flags.format.print(result.object) { result.lines }
        return result.left == 0 ? .done : .failed
    }
}
