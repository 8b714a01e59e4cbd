public import Backend
public import HealthStore
public import ClarityScheduler

extension SectionValues {
    /// The backend of an order that needs one.
    public var neededBackend: BackendOptions {
        get throws(Failure) {
            if let backend = try backend { return backend }
            throw Failure(.configuration, "`backend.url` is missing")
        }
    }
}

extension BackendOptions {
    /// Returns the backend's dialect, or that it is to be detected.
    public func dialectChoice() throws(Failure) -> DialectChoice {
        guard dialect != "auto" else { return .auto }
        guard let dialect = Dialect.named(dialect) else {
            throw Failure(.configuration, "`backend.dialect` is not a known dialect")
        }
        return .fixed(dialect)
    }

    /// Returns a transport that keeps the limits of the backend, together with all others that have
    /// the same folder; `transport` itself if there are no limits.
    ///
    /// - Parameter deadline: the value of `clock.elapsed` until which a request may wait.
    public func limited(
        _ transport: any HTTPTransport, in folder: String, clock: any WallClock,
        deadline: Duration? = nil
    ) -> any HTTPTransport {
        guard requestsPerSecond != nil || connections != nil else { return transport }
        return LimitedTransport(
            transport,
            SharedLimits(requestsPerSecond: requestsPerSecond, connections: connections),
            backend: url, folder: folder, clock: clock, deadline: deadline)
    }

    /// Returns a client of the backend that keeps its session in a store.
    ///
    /// - Parameter environment: as in `StoredSessions`.
    public func client(
        _ store: HealthStore, _ transport: any HTTPTransport, clock: any WallClock,
        environment: [String: String] = [:]
    ) throws(Failure) -> APIClient {
        let sessions = StoredSessions(store, backend: url, environment: environment)
        return APIClient(
            base: url, dialect: try dialectChoice(), memory: sessions, transport: transport,
            sessions: sessions, clock: clock, retryWait: retryWait)
    }

    /// Returns which servers to trust as the backend.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two.
    public func trust() throws(TransportError) -> CurlTransport.Trust {
        try CurlTransport.Trust(authorities: authorities, pinLines: pins)
    }
}
