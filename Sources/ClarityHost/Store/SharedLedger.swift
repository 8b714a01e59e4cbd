import ClarityScheduler
import Database

/// The ledger of a history that several processes share: reads it, and writes what is decided on it.
struct SharedLedger {
    /// What a decision wrote.
    struct Written {
        var changes: [LedgerChange]
        /// Whether other processes should look now, and not at their next regular look.
        var isNews: Bool
    }

    let connection: Connection
    let peers: any HistoryPeers
    private var cache = LedgerCache()

    init(_ connection: Connection, _ peers: any HistoryPeers) {
        (self.connection, self.peers) = (connection, peers)
    }

    /// Passes the ledger to `decide` and writes the changes that it returns, in one transaction.
    mutating func decide(_ decide: (Ledger) -> [LedgerChange]) throws -> Written {
        do {
            return try connection.transaction {
                try cache.refresh(connection, peers)
                let changes = decide(cache.ledger)
                try LedgerWriter(connection: connection, peers: peers).write(changes, to: &cache)
                if !changes.isEmpty { try peers.noteWrite(connection) }
                return Written(
                    changes: changes, isNews: changes.contains { $0.concernsOthers })
            }
        } catch {
            // The cache may hold changes that were rolled back, or whose commit is uncertain.
            cache = LedgerCache()
            throw error
        }
    }

    /// Returns the current ledger.
    mutating func ledger() throws -> Ledger {
        try connection.snapshot {
            try cache.refresh(connection, peers)
            return cache.ledger
        }
    }
}

extension LedgerChange {
    fileprivate var concernsOthers: Bool {
        switch self {
        case .put, .setPause, .requestStop: true
        case .setClock, .setBoot, .setSource, .setRetryAfter, .recordFate, .putAttempt, .putFacts,
            .deferred, .prune:
            false
        }
    }
}
