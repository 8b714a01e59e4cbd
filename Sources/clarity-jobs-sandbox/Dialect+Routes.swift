// Beside the program and not in it, because the fuzzers take the sandbox without its main function.
extension Dialect {
    /// Creates the routes of this dialect.
    func makeRoutes() -> any RouteSet {
        switch name {
        case Dialect.loop.name: LoopRoutes(self)
        default: BlueprintRoutes()
        }
    }
}
