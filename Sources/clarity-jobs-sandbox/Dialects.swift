extension Dialect {
    /// Creates the routes of this dialect.
    func makeRoutes() -> any RouteSet {
        switch name {
        case Dialect.loop.name: LoopRoutes(self)
        default: BlueprintRoutes()
        }
    }
}
