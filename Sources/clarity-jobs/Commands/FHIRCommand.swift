import Platform

/// The commands `fhir`.
struct FHIRCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// Becomes the worker, which has the library that makes keys.
    func keygen() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard let path = arguments["out"], !path.isEmpty else {
            throw CommandFailure(.usage, "`fhir keygen` wants --out FILE, a new file")
        }
        try composition.exec(
            "clarity-jobs-worker",
            [
                "fhir", "keygen", "--kind", arguments["kind"] ?? "es384", "--out",
                composition.absolute(path),
            ], for: nil)
    }
}
