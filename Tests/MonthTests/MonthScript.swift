import ClarityHost
import ClarityScheduler

/// The events of the month, and the expected results of the attempts in it.
///
/// The script is written before anything runs. The conditions of the machine and the results of
/// attempts form a trace that `simulate` accepts. The acts change the backend, the export and the
/// login.
struct MonthScript {
    /// A change to the world.
    enum Act {
        case export(MonthExport)
        case fault([String])
        case clearFaults
        /// The tokens that expire: `access` or `all`.
        case expireTokens(String)
        case logIn
        /// The processing of the oldest open upload never ends.
        case stallOldestUpload
        /// A person changes a metric at the backend.
        case editMetric
    }

    static let start = Instant(secondsSince1970: 1_772_409_600)
    static let days: Int64 = 30
    static var stretch: Range<Instant> { start..<(start + .seconds(days * 86_400)) }
    /// The duration of each attempt.
    static let attempt = Duration.seconds(10)

    let acts: [(at: Instant, act: Act)]
    /// The lines of the trace, as `simulate` reads them.
    let lines: [String]
    let trace: ConditionTrace

    /// Returns whether the machine's network reaches the backend.
    func isOnline(at instant: Instant) -> Bool {
        trace.conditions(at: instant).connected.value == true
    }

    /// Returns an instant of the month. Day 1 is the first, a Monday.
    static func on(_ day: Int64, _ hour: Int64, _ minute: Int64 = 0, _ second: Int64 = 0) -> Instant
    {
        start + .seconds(((day - 1) * 24 + hour) * 3600 + minute * 60 + second)
    }
}

extension MonthScript {
    static let first = MonthExport(heartRates: 0..<160, days: 0..<7, unmapped: 5)
    /// An export of a week later, which repeats the last days of the first one.
    static let second = MonthExport(heartRates: 100..<280, days: 4..<12, unmapped: 4)

    static func month(with backend: MonthBackend) throws(TraceFault) -> MonthScript {
        var script = Draft()
        script.line(on(1, 0), machine + #","source":false,"attempts":{"\#(upload)":"source"}"#)
        script.act(on(1, 0), .logIn)
        script.act(on(1, 0), .fault([backend.poison]))
        script.weekdays()

        // Until now there was no export, and each upload waited for one.
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

        // A week without network. Only jobs that do not require it are tried.
        script.line(
            on(8, 10, 5), #""connected":false,"attempts":{"\#(insights)":"retry"}"#)
        script.line(on(15, 9, 37), #""connected":true,"attempts":{"\#(insights)":"ok"}"#)

        // The access token is revoked: one call is refused, and made again after a renewal.
        script.act(on(16, 12, 7), .expireTokens("access"))

        // The second export arrives, and then the backend fails for a morning.
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
        if backend.tellsEnd { script.act(on(17, 8, 0, 5), .stallOldestUpload) }
        script.found(afterUploadAt: on(17, 8), backend)

        // The session is revoked remotely. Until somebody logs in, the jobs that need one wait: also
        // the one that asks about uploads, while one is open.
        func asks(_ end: String) -> String {
            backend.tellsEnd ? #","\#(status)":"\#(end)""# : ""
        }
        script.act(on(18, 13, 20), .expireTokens("all"))
        script.line(
            on(18, 13, 20),
            #""login":false,"attempts":{"\#(refresh)":"login","\#(insights)":"login"\#(asks("login"))}"#
        )
        script.act(on(18, 21, 5), .logIn)
        script.line(
            on(18, 21, 5),
            #""login":true,"attempts":{"\#(refresh)":"ok","\#(insights)":"ok","\#(status)":"ok"}"#
        )

        // Somebody corrects a value at the backend.
        if backend.hasEdits { script.act(on(19, 10, 15), .editMetric) }

        // An hour without network while an upload is open: its status is requested in vain.
        let isAsked = backend.tellsEnd ? "retry" : "ok"
        script.line(on(21, 12, 20), #""connected":false,"attempts":{"\#(status)":"\#(isAsked)"}"#)
        script.line(on(21, 13, 25), #""connected":true,"attempts":{"\#(status)":"ok"}"#)

        // The last days without network. The open upload has been given up before.
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

    /// A script under construction.
    private struct Draft {
        private var members: [Instant: [String]] = [:]
        private var acts: [(at: Instant, act: Act)] = []

        mutating func line(_ at: Instant, _ text: String) {
            members[at, default: []].append(text)
        }

        mutating func act(_ at: Instant, _ act: Act) { acts.append((at, act)) }

        /// Expects the attempt that follows an upload to find it processed.
        mutating func found(afterUploadAt at: Instant, _ backend: MonthBackend) {
            guard backend.tellsEnd else { return }
            let at = at + MonthScript.attempt
            let tells = #"{"events":["upload-completed"]}"#
            line(
                at - .seconds(5),
                #""attempts":{"\#(MonthScript.status)":\#(tells)}"#)
            line(
                at + .seconds(5),
                #""attempts":{"\#(MonthScript.status)":"ok"}"#)
        }

        /// On weekdays a person uses the machine from 8:20 to 18:40.
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
    /// All acts and all lines of the trace, by time, one per line.
    var description: String {
        let told = acts.map { (at: $0.at, text: "\($0.at) \($0.act)") }
        let stamped = trace.entries.enumerated().map { (at: $1.at, text: lines[$0]) }
        return (told + stamped).sorted { $0.at < $1.at }.map(\.text).joined(separator: "\n")
    }
}
