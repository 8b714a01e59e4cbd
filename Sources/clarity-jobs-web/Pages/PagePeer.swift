import HTTPServing

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
