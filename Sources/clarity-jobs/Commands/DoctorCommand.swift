import ClarityHost
import ClarityScheduler
import Platform
import JSON

/// `doctor`: shows this machine's conditions, their sources, and what is missing to know more.
struct DoctorCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        if composition.arguments.has("backend") {
            return try AuthCommand(composition).checkBackend()
        }
        let file = try composition.jobFile()
        let diagnosis = composition.conditions(file, asksServices: true).diagnosis(
            asking: Set(file.questions.map(\.name)))
        let text = DoctorReport(
            conditions: diagnosis.conditions,
            members: ConditionsNotation.members(diagnosis.conditions),
            remedies: diagnosis.remedies,
            subscriptions: diagnosis.subscriptions.map { ($0.subject, $0.fault) },
            now: composition.clock.now, style: composition.console.terminalStyle)
        composition.console.results(text.lines, text)
        return .done
    }
}
