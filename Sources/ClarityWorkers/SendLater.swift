import ClarityScheduler

/// The work continues later, at a known time.
struct SendLater: Error {
    let outcome: Outcome

    /// By this program's own count the hour's requests are used up; nothing has failed.
    static func budget(_ wait: Duration) -> SendLater {
        SendLater(
            outcome: .snooze(
                after: wait,
                Failure(
                    .work,
                    "the requests that the backend allows in an hour are used up; the rest follows "
                        + "in \(text(wait))")))
    }

    /// Returns a wait in whole seconds, rounded up.
    static func text(_ wait: Duration) -> String {
        Duration.seconds((wait.milliseconds + 999) / 1000).text
    }

    /// The backend accepts no more requests for now, although this program's count had room.
    static func refused(_ wait: Duration, _ failure: Failure) -> SendLater {
        SendLater(outcome: .retry(after: wait, failure))
    }
}
