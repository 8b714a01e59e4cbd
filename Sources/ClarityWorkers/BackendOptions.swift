public import ClarityContract
public import ClarityJobs
public import ClarityScheduler
public import ClarityTransport

// The settings of the job file that concern the backend.

extension JobOptions {
    /// Returns the base URL of the backend's API.
    public func backendURL() throws(Failure) -> String { try text("backend.url") }

    /// Returns the backend's dialect, or that it is to be detected.
    public func dialect() throws(Failure) -> DialectChoice {
        try JobOptions.dialect(named: order.options["backend.dialect"])
    }

    /// Parses the name of a dialect; `auto` and `nil` mean that it is detected.
    public static func dialect(named name: String?) throws(Failure) -> DialectChoice {
        guard let name, name != "auto" else { return .auto }
        guard let dialect = Dialect.named(name) else {
            throw Failure(.configuration, "`backend.dialect` is not a known dialect")
        }
        return .fixed(dialect)
    }

    /// Returns which servers to trust as the backend, or as the job's own receiver.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two.
    public func trust() throws(TransportError) -> CurlTransport.Trust {
        // The receiver of the audit log is another server, with trust settings of its own.
        let prefix = order.kind == JobKind("audit-upload") ? "" : "backend."
        return try CurlTransport.Trust(
            authorities: order.options["\(prefix)ca_bundle"],
            pinLines: order.options["\(prefix)pins"])
    }

    /// Returns the URL to which the audit log is sent.
    func auditURL() throws(Failure) -> String { try text("url") }

    /// Returns the wait before the first retry of a request.
    public func retryWait() throws(Failure) -> Duration {
        guard let text = order.options["backend.retry_wait"] else { return .seconds(1) }
        guard let milliseconds = Int64(text), (1...60_000).contains(milliseconds) else {
            throw Failure(.configuration, "`backend.retry_wait` is not 1 to 60000 milliseconds")
        }
        return .milliseconds(milliseconds)
    }
}
