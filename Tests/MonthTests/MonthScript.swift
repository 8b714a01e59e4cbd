import ClarityHost
import ClarityScheduler

/// What happens in the month, and what is expected of the attempts in it.
///
/// Written down before anything runs: the conditions of the machine and how attempts go, as a trace
/// that `simulate` takes, and what is done to the backend, the export and the login.
struct MonthScript {
    /// Something that is done to the world.
    enum Act {
        case export(MonthExport)
        case fault([String])
        case clearFaults
        /// `access`, or `all`.
        case expireTokens(String)
        case logIn
        /// The processing of the oldest open upload never ends.
        case stallOldestUpload
        /// Somebody changes a metric at the backend.
        case editMetric
    }

    static let start = Instant(secondsSince1970: 1_772_409_600)
    static let days: Int64 = 30
    static var stretch: Range<Instant> { start..<(start + .seconds(days * 86_400)) }
    /// How long each attempt takes.
    static let attempt = Duration.seconds(10)

    let acts: [(at: Instant, act: Act)]
    /// The trace as `simulate` reads it.
    let lines: [String]
    let trace: ConditionTrace

    /// Whether the backend can be reached, as far as the machine's network goes.
    func isOnline(at instant: Instant) -> Bool {
        trace.conditions(at: instant).connected.value == true
    }

    /// An instant of the month: day 1 is the first, a Monday.
    static func on(_ day: Int64, _ hour: Int64, _ minute: Int64 = 0, _ second: Int64 = 0) -> Instant
    {
        start + .seconds(((day - 1) * 24 + hour) * 3600 + minute * 60 + second)
    }
}

extension MonthScript {
    static let first = MonthExport(heartRates: 0..<160, days: 0..<7, unmapped: 5)
    /// A week later, with the last days of the first in it.
    static let second = MonthExport(heartRates: 100..<280, days: 4..<12, unmapped: 4)

    static func month(with backend: MonthBackend) throws(TraceFault) -> MonthScript {
        var script = Draft()
        script.line(on(1, 0), machine + #","source":false,"attempts":{"\#(upload)":"source"}"#)
        script.act(on(1, 0), .logIn)
        script.act(on(1, 0), .fault([backend.poison]))
        script.weekdays()

        // Until now there was no export, and each upload waited for it.
        script.act(on(2, 7, 32), .export(first))
        if backend.knowsRepeats { script.act(on(2, 7, 32), .fault([backend.lostAnswer])) }
        script.line(on(2, 7, 32), #""source":true,"attempts":{"\#(upload)":"ok"}"#)

        script.found(afterUploadAt: on(2, 7, 32), backend)

        // A metered evening, then a train without a socket, then an almost empty battery.
        script.line(on(3, 19, 5), #""metered":true"#)
        script.line(on(3, 23, 5), #""metered":false"#)
        script.line(on(4, 2, 50), #""external_power":false,"battery":60"#)
        script.line(on(4, 7, 20), #""battery":15"#)
        script.line(on(4, 19, 45), #""external_power":true,"battery":80"#)

        // A week without network. Only what asks for none is tried.
        script.line(
            on(8, 10, 5), #""connected":false,"attempts":{"\#(insights)":"retry"}"#)
        script.line(on(15, 9, 37), #""connected":true,"attempts":{"\#(insights)":"ok"}"#)

        // The access token is revoked: one call is refused, renewed and made again.
        script.act(on(16, 12, 7), .expireTokens("access"))

        // The second export comes, and then the backend is out of order for a morning.
        script.act(on(17, 1, 30), .export(second))
        script.act(on(17, 1, 45), .fault(backend.storm))
        script.line(
            on(17, 1, 45),
            #""attempts":{"\#(upload)":"retry","\#(refresh)":"retry","\#(insights)":"retry"}"#)
        script.act(on(17, 7, 30), .clearFaults)
        script.act(on(17, 7, 30), .fault([backend.poison]))
        script.line(
            on(17, 7, 30),
            #""attempts":{"\#(upload)":"ok","\#(refresh)":"ok","\#(insights)":"ok"}"#)
        // The upload of 8:00 is accepted in several parts, one of which is never processed.
        script.act(on(17, 8, 0, 5), .stallOldestUpload)
        script.found(afterUploadAt: on(17, 8), backend)

        // The session is ended from afar; until somebody logs in, what needs one waits.
        script.act(on(18, 13, 20), .expireTokens("all"))
        script.line(
            on(18, 13, 20),
            #""login":false,"attempts":{"\#(refresh)":"login","\#(insights)":"login","\#(status)":"login"}"#
        )
        script.act(on(18, 21, 5), .logIn)
        script.line(
            on(18, 21, 5),
            #""login":true,"attempts":{"\#(refresh)":"ok","\#(insights)":"ok","\#(status)":"ok"}"#
        )

        // Somebody corrects a value at the backend.
        if backend.hasEdits { script.act(on(19, 10, 15), .editMetric) }

        // An hour without network while an upload is open: it is asked for in vain.
        script.line(on(21, 12, 20), #""connected":false,"attempts":{"\#(status)":"retry"}"#)
        script.line(on(21, 13, 25), #""connected":true,"attempts":{"\#(status)":"ok"}"#)

        // The last days without network; the open upload was given up before.
        script.line(
            on(25, 13, 10), #""connected":false,"attempts":{"\#(insights)":"retry"}"#)
        script.line(on(30, 20, 12), #""connected":true,"attempts":{"\#(insights)":"ok"}"#)
        return try script.made()
    }

    static let refresh = "com.clarity.refresh"
    static let upload = "com.clarity.healthkit.upload"
    static let status = "com.clarity.processing-status"
    static let insights = "com.clarity.insights"

    /// A laptop at home at night.
    private static let machine = """
        "connected":true,"metered":false,"roaming":false,"external_power":true,"battery":80,\
        "low_power":false,"idle":true,"storage_free_bytes":100000000000,"pressure_percent":0
        """

    /// A script in the making.
    private struct Draft {
        private var members: [Instant: [String]] = [:]
        private var acts: [(at: Instant, act: Act)] = []

        mutating func line(_ at: Instant, _ text: String) {
            members[at, default: []].append(text)
        }

        mutating func act(_ at: Instant, _ act: Act) { acts.append((at, act)) }

        /// The attempt that follows an upload finds it done, or the next by schedule does.
        mutating func found(afterUploadAt at: Instant, _ backend: MonthBackend) {
            let quarter: Int64 = 900
            let now = at.secondsSince1970
            let at =
                backend.isFoundAtOnce
                ? at + MonthScript.attempt
                : Instant(secondsSince1970: (now / quarter + 1) * quarter)
            let tells = #"{"events":["upload-completed"]}"#
            line(
                at - .seconds(5),
                #""attempts":{"\#(MonthScript.status)":\#(tells)}"#)
            line(
                at + .seconds(5),
                #""attempts":{"\#(MonthScript.status)":"ok"}"#)
        }

        /// On weekdays somebody is at the machine from 8:20 to 18:40.
        mutating func weekdays() {
            for day in 1...days where (day - 1) % 7 < 5 {
                line(on(day, 8, 20), #""idle":false"#)
                line(on(day, 18, 40), #""idle":true"#)
            }
        }

        func made() throws(TraceFault) -> MonthScript {
            let lines = members.sorted { $0.key < $1.key }.map { at, members in
                #"{"at":"\#(at)",\#(members.joined(separator: ","))}"#
            }
            let text = lines.joined(separator: "\n")
            return MonthScript(
                acts: acts.enumerated().sorted {
                    ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
                }.map(\.element), lines: lines,
                trace: try TraceReader().read(Array(text.utf8), path: "month"))
        }
    }
}

extension MonthScript: CustomStringConvertible {
    /// All of it, by time, a line each.
    var description: String {
        let told = acts.map { (at: $0.at, text: "\($0.at) \($0.act)") }
        let stamped = trace.entries.enumerated().map { (at: $1.at, text: lines[$0]) }
        return (told + stamped).sorted { $0.at < $1.at }.map(\.text).joined(separator: "\n")
    }
}
