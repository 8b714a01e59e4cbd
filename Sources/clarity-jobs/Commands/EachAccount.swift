import ClarityHost
import ClarityScheduler
import Platform

/// `--all`: a command for each account of the job file in turn.
struct EachAccount {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// Runs `body` with what the command needs for each account, disabled ones included.
    ///
    /// A failure for one account is reported with its name and does not stop the others. In JSON,
    /// the results are one list, and each has a member `account`.
    ///
    /// - Parameter first: what is done before, for all accounts together.
    func run(
        first: (Composition) throws(CommandFailure) -> ExitStatus = { _ in .done },
        _ body: (Composition, AccountID) throws(CommandFailure) -> ExitStatus
    ) throws(CommandFailure) -> ExitStatus {
        guard composition.arguments["account"] == nil else {
            throw CommandFailure(.usage, "--all is for each account, and --account names one")
        }
        let file = try composition.wholeJobFile()
        let accounts = try composition.accounts(of: file)
        let list = composition.console.partedList()
        defer { list.end() }
        var status = try first(
            composition.working(on: file, with: composition.console.part(of: list)))
        for account in accounts {
            let console = composition.console.part(named: account.id.rawValue, of: list)
            let own = composition.working(
                on: file.view(of: account), with: console)
            do throws(CommandFailure) {
                status = status.joined(with: try body(own, account.id))
            } catch {
                error.lines.forEach { console.complain($0.namingAccount(account.id.rawValue)) }
                status = status.joined(with: error.status)
            }
            if StopSignal.received != nil { break }
        }
        return status
    }
}
