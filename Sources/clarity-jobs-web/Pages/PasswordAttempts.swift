import HTTPServing
import Platform

/// The attempts to come in that were wrong, of the last minute.
///
/// They count by where they come from and by the account that they name, so that nobody locks
/// others out. More of them from everywhere would take this machine's time.
struct PasswordAttempts {
    /// How many there may be within `span`: of one peer for one account, for one account, of one
    /// peer, and in all.
    static let most = (ofBoth: 5, ofAccount: 30, ofPeer: 20, inAll: 600)
    static let span = Duration.seconds(60)

    private struct Attempt {
        var peer: String
        var account: String
        var time: ContinuousClock.Instant
    }

    private var attempts: [Attempt] = []

    /// Counts an attempt and returns `nil`, or returns how long to wait until there may be one.
    mutating func take(
        _ peer: String, _ account: String, at now: ContinuousClock.Instant
    ) -> Duration? {
        // Somebody may name an account of any length.
        let account = String(decoding: account.utf8.prefix(64), as: UTF8.self)
        attempts.removeAll { now - $0.time >= PasswordAttempts.span }
        let most = PasswordAttempts.most
        let waits = [
            wait(most.ofBoth, at: now) { $0.peer == peer && $0.account == account },
            wait(most.ofAccount, at: now) { $0.account == account },
            wait(most.ofPeer, at: now) { $0.peer == peer },
            wait(most.inAll, at: now) { _ in true },
        ]
        if let longest = waits.compactMap(\.self).max() { return longest }
        attempts.append(Attempt(peer: peer, account: account, time: now))
        return nil
    }

    /// Takes back the latest attempt of a peer for an account, which was right.
    mutating func giveBack(_ peer: String, _ account: String) {
        let last = attempts.lastIndex { $0.peer == peer && $0.account == account }
        if let last { attempts.remove(at: last) }
    }

    /// Returns how long to wait until fewer than `most` attempts are such ones; `nil` if they are.
    private func wait(
        _ most: Int, at now: ContinuousClock.Instant, _ isCounted: (Attempt) -> Bool
    ) -> Duration? {
        let counted = attempts.filter(isCounted)
        guard counted.count >= most else { return nil }
        return PasswordAttempts.span - (now - counted[counted.count - most].time)
    }
}

/// Where a request comes from, as far as wrong passwords are counted by it.
enum PagePeer {
    /// Returns an address, on this machine with the user, and behind a proxy with the address that
    /// the proxy names.
    ///
    /// - Parameters:
    ///   - user: the user of this machine who made the connection, if that is known.
    ///   - forwarded: the header `X-Forwarded-For`, whose last part the proxy has written; `nil`
    ///     without a proxy.
    static func name(_ peer: ListenAddress, user: Int?, forwarded: String?) -> String {
        guard peer.isLoopback else { return peer.hostText }
        let user = user.map { "user \($0)" } ?? peer.hostText
        guard let last = forwarded?.split(separator: ",").last else { return user }
        return "\(user) for \(last.filter { $0 != " " }.prefix(64))"
    }
}
