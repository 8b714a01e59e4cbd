public import ClarityScheduler

/// The settings of the job file and the options of a job, as an order carries them.
///
/// The scheduler has checked them already. An order that does not fit is still a configuration
/// failure, because anybody may start a worker.
public struct JobOptions: Sendable {
    package let order: AttemptOrder
    package var zones: SourceZones

    /// Reads the options of `order`.
    ///
    /// - Parameter zones: the time zones that sources can name.
    public init(
        _ order: AttemptOrder, zones: SourceZones = SourceZones(environment: [:])
    ) {
        self.order = order
        self.zones = zones
    }

    /// Returns the path of the state directory.
    public func stateDirectory() throws(Failure) -> String { try text("state.directory") }

    /// Returns the folder in which all processes of an installation keep the limits of its backends.
    ///
    /// Accounts have state directories of their own and share the folder that the order names.
    public func limitsFolder() throws(Failure) -> String {
        if let folder = option("backend.limits_folder") { return folder }
        return "\(try stateDirectory())/backend"
    }

    /// Returns the value of an option; `nil` if it is missing or empty.
    package func option(_ key: String) -> String? {
        order.options[key].flatMap { $0.isEmpty ? nil : $0 }
    }

    package func text(_ key: String) throws(Failure) -> String {
        guard let value = option(key) else {
            throw Failure(.configuration, "`\(key)` is missing")
        }
        return value
    }
}
