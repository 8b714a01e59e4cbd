import ClarityScheduler

/// The work goes on later, at a time that is known.
struct SendLater: Error {
    /// From now on.
    var after: Duration
    var failure: Failure

    /// The requests of the hour are used up.
    static func budget(_ wait: Duration) -> SendLater {
        SendLater(
            after: wait,
            failure: Failure(
                .work,
                "the requests that the backend allows in an hour are used up; the rest follows in "
                    + Duration.seconds((wait.milliseconds + 999) / 1000).text))
    }
}
