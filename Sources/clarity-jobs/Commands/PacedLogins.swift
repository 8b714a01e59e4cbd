import ClarityScheduler
import Platform

/// Makes one login after the other, as fast as the backend's limiter admits them.
///
/// The deployed backend takes 10 logins a minute from one address of the network. A refusal by its
/// limiter checks no password, so the same login is made again after the limiter's window.
struct PacedLogins {
    /// How a login ended.
    enum End {
        case ended(ExitStatus)
        /// The limiter admits the next login after this wait.
        case limited(Duration)
    }

    /// The windows in a row without any login after which the rest is left: 3. Others use the limit.
    static let patience = 3

    let count: Int
    let wait: (Duration) -> Void
    let say: (String) -> Void

    /// Makes the logins 0 to `count - 1`.
    ///
    /// - Returns: the status of all together.
    func run(_ login: (Int) throws(CommandFailure) -> End) throws(CommandFailure) -> ExitStatus {
        var status = ExitStatus.done
        var (number, inWindow, emptyWindows) = (0, 0, 0)
        while number < count {
            switch try login(number) {
            case .ended(let one):
                status = status.joined(with: one)
                // Whoever interrupts one login wants none of the others.
                guard ![.interrupted, .terminated].contains(one) else { return status }
                number += 1
                inWindow += 1
                emptyWindows = 0
            case .limited(let window):
                emptyWindows += inWindow == 0 ? 1 : 0
                guard emptyWindows <= PacedLogins.patience else {
                    say("the backend takes no further login (429); \(rest(from: number)) left")
                    return status.joined(with: .deferred)
                }
                let windows = inWindow == 0 ? nil : (count - number + inWindow - 1) / inWindow
                say(
                    "the backend takes no further login for \(window.text); \(rest(from: number)) left"
                        + (windows.map { ", which takes about \((window * $0).text)" } ?? ""))
                wait(window)
                inWindow = 0
            }
        }
        return status
    }

    private func rest(from number: Int) -> String {
        let left = count - number
        return "\(left) of \(count) accounts \(left == 1 ? "is" : "are")"
    }
}
