import ClarityScheduler

/// The work goes on later, at a time that is known.
struct SendLater: Error {
    let outcome: Outcome

    /// The requests of the hour are used up, by our own count: nothing has failed.
    static func budget(_ wait: Duration) -> SendLater {
        SendLater(
            outcome: .snooze(
                after: wait,
                Failure(
                    .work,
                    "the requests that the backend allows in an hour are used up; the rest follows "
                        + "in \(text(wait))")))
    }

    /// A wait in whole seconds, none too few.
    static func text(_ wait: Duration) -> String {
        Duration.seconds((wait.milliseconds + 999) / 1000).text
    }

    /// The backend wants no more for now, although our count had room.
    static func refused(_ wait: Duration, _ failure: Failure) -> SendLater {
        SendLater(outcome: .retry(after: wait, failure))
    }
}
