public import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc

extension JobFileReader {
    /// Creates a reader that takes zones, the home folder, the working folder and the host's
    /// identity from this machine and process.
    public init(catalogue: JobCatalogue) {
        var environment: [String: String] = [:]
        for name in ["HOME", "TZ", "TZDIR"] {
            environment[name] = getenv(name).map { String(cString: $0) }
        }
        let folder = getcwd(nil, 0)
        defer { free(folder) }
        self.init(
            catalogue: catalogue, zones: SystemZones(environment: environment),
            home: environment["HOME"] ?? "/",
            workingDirectory: folder.map { String(cString: $0) } ?? "/",
            localZone: LocalZone.identifier(environment: environment), host: HostIdentity.text())
    }
}
