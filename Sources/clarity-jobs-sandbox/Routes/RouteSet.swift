/// The answers of a dialect: its routes, and the format of answers that no route gives.
///
/// It belongs to the service's thread, and may keep state between calls.
protocol RouteSet: AnyObject {
    /// Returns the answer to a complete call, whose token, if it needs one, is valid.
    func perform(
        _ operation: Operation, _ call: Service.Call, _ service: Service
    ) throws -> Response

    /// Returns the answer of an operation when a system behind the service is down.
    ///
    /// - Parameter operation: the operation; `nil` for a path without one.
    func outage(_ operation: Operation?, _ request: Request) -> Response

    /// Returns the bearer token of a request.
    func token(of request: Request) -> String?

    /// The answer to a request whose token is missing, unknown, expired or revoked.
    var invalidToken: Response { get }

    func notFound(_ request: Request) -> Response
    /// Returns the answer for a method that the path does not support; `methods` lists those that
    /// it supports, separated by commas.
    func wrongMethod(_ methods: String, _ request: Request) -> Response
    func tooLarge(_ request: Request, most: Int) -> Response
    /// Returns the answer when the store cannot read or write.
    func storeFailed(_ request: Request) -> Response
    /// Returns the answer for an injected error status.
    func fault(
        _ status: Int, _ headers: [Response.Header], _ request: Request
    ) -> Response
    /// Returns the answer for a failure after the request was processed.
    func failureAfterStoring(_ status: Int, _ request: Request) -> Response
    /// Returns the answer with the headers that every answer has.
    func dressed(_ response: Response) -> Response
}
