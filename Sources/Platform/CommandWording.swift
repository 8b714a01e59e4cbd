extension String {
    /// The text with the account in each command of `clarity-jobs` that it shows, so that a person
    /// can type it as it is: `clarity-jobs --account anna auth login`.
    ///
    /// - Parameter account: the account that the text is about; without one, the text stays.
    public func namingAccount(_ account: String?) -> String {
        guard let account else { return self }
        let command = "`clarity-jobs "
        let parts = split(separator: command, omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(parts.first.map(String.init) ?? "") { text, part in
            // A command that names an account keeps it, and some are of all accounts.
            let isNamed = part.hasPrefix("--account ") || part.hasPrefix("accounts ")
            return text + command + (isNamed ? "" : "--account \(account) ") + part
        }
    }
}
