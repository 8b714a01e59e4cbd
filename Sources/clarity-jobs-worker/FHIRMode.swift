import ClarityJobs
import ClarityScheduler
import JSON
import Platform

/// What the commands `fhir` do that need libcrypto.
enum FHIRMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        guard arguments.first == "keygen",
            let flags = Flags(Array(arguments.dropFirst()), values: ["kind", "out"]),
            let kind = flags["kind"].flatMap({ SigningKey.Kind(rawValue: $0) }),
            let path = flags["out"]
        else {
            return Program.usageError("expected `fhir keygen` with a kind and an absolute path")
        }
        return keygen(kind, path)
    }

    /// Makes a key, and prints its public half for the server's administrator.
    private static func keygen(_ kind: SigningKey.Kind, _ path: String) -> ExitStatus {
        do throws(Failure) {
            let key = try SigningKey(kind)
            try key.write(to: path)
            let keys: JSON = ["keys": [try key.jwk]]
            print(keys.page)
            return .done
        } catch {
            return ExitStatus(.failure(error))
        }
    }
}
