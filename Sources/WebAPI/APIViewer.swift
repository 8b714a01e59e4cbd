/// Whose data a path or an action is about.
public enum APIReach: Hashable, Sendable {
    /// The values, sources and samples of one account.
    case values
    /// The jobs, their runs and the machine: of one account, or of all.
    case jobs
    /// All accounts.
    case accounts
}

/// Who has come in to the pages.
public enum APIViewer: Hashable, Sendable {
    /// The one person of a job file without accounts.
    case person
    /// Who looks after the accounts: sees states and freshness of all, and values of nobody.
    case caretaker
    /// A wearer, by the id of the account: sees what is their own.
    case wearer(String)

    public func maySee(_ reach: APIReach) -> Bool {
        switch self {
        case .person, .wearer: reach != .accounts
        case .caretaker: reach != .values
        }
    }

    /// The words that keep a command to what is the viewer's own.
    public var words: [String] {
        if case .wearer(let account) = self { ["--account=\(account)"] } else { [] }
    }

    /// The word for the viewer in answers.
    public var name: String {
        switch self {
        case .person: "person"
        case .caretaker: "caretaker"
        case .wearer: "wearer"
        }
    }

    /// The wearer's account.
    public var account: String? { if case .wearer(let account) = self { account } else { nil } }
}
