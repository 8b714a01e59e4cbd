/// How a dialect answers: its routes, and the form of the answers that no route gives.
///
/// It belongs to the service's thread, and may remember between calls.
protocol RouteSet: AnyObject {
    /// The answer to a call that is complete: its token, if it needs one, is good.
    func perform(
        _ operation: Operation, _ call: Service.Call, _ service: Service
    ) throws -> Response

    /// What an operation answers when what stands behind the service does not; `nil` is a path
    /// without one.
    func outage(_ operation: Operation?, _ request: Request) -> Response

    /// The bearer token of a request.
    func token(of request: Request) -> String?

    /// The answer to a token that is missing, unknown, expired or revoked.
    var invalidToken: Response { get }

    func notFound(_ request: Request) -> Response
    /// Nothing at this path answers the method; `methods` do, separated by commas.
    func wrongMethod(_ methods: String, _ request: Request) -> Response
    func tooLarge(_ request: Request, most: Int) -> Response
    /// The store refused to read or to write.
    func storeFailed(_ request: Request) -> Response
    /// An error that was asked for.
    func fault(
        _ status: Int, _ headers: [Response.Header], _ request: Request
    ) -> Response
    /// A failure after the request was carried out.
    func failureAfterStoring(_ status: Int, _ request: Request) -> Response
    /// The answer with what every answer has.
    func dressed(_ response: Response) -> Response
}
