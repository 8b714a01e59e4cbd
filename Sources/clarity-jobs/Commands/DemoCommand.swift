import CLinux
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Reports

/// `demo`: shows the program on invented data, in a folder that is gone afterwards.
///
/// It does with this program what a person does: a job file, an import, an upload, the pages. The
/// server that it sends to is the package's own stand-in, on loopback. Nothing that is
/// there already is read or changed, and nothing leaves this machine.
struct DemoCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`demo` takes no operands")
        }
        return try composition.withTemporaryFolder("demo") { folder throws(CommandFailure) in
            let status = try show(in: folder)
            say("the demo's data is removed: \(folder)")
            return status
        }
    }

    private func show(in folder: String) throws(CommandFailure) -> ExitStatus {
        let zone = try Composition.localZone(composition.environment)
        var answers = SetupAnswers()
        answers.goal = .keep
        answers.path = "\(folder)/export.xml"
        answers.timeZone = zone.identifier
        answers.stateDirectory = "\(folder)/state"
        let jobFile = "\(folder)/jobs.yaml"
        let sandbox = composition.companionIfThere("clarity-jobs-sandbox")
        let steps = sandbox == nil ? 3 : 4
        say("1 of \(steps): inventing \(DemoExport.days) days of a person who does not exist")
        try JobFileDraft(DemoExport.text(at: composition.clock.now, in: zone))
            .publish(as: answers.path)
        try JobFileDraft(answers.jobFile).publish(as: jobFile)
        say("2 of \(steps): reading them, as the export of a phone")
        let read = try program(["run", SetupAnswers.importJob, "--force"], jobFile)
        guard read == .done else { return read }
        let summary = try program(["summary"], jobFile)
        guard summary == .done else { return summary }
        guard let sandbox else { return try pages(jobFile, "3 of 3") }

        say("")
        say("3 of 4: sending them to a stand-in for a CLARITY server, here on this machine")
        let standIn = try StandIn(sandbox, data: "\(folder)/backend")
        answers.goal = .send
        answers.backend = standIn.url
        let sending = "\(folder)/sending.yaml"
        try JobFileDraft(answers.jobFile).publish(as: sending)
        let login = ["auth", "login", "--email", "demo@example.com", "--password-stdin"]
        let commands: [(words: [String], input: String?)] = [
            (login, "Demo-Passw0rd!\n"), (["run", SetupAnswers.uploadJob, "--force"], nil),
            (["audit"], nil),
        ]
        for (words, input) in commands {
            let status = try program(words, sending, input: input)
            guard status == .done else { return status }
        }
        let counts = standIn.url.replacing("/api/v1", with: "/_sandbox/summary")
        say("The stand-in counts what it received: \(counts)")
        return try withExtendedLifetime(standIn) { () throws(CommandFailure) in
            try pages(sending, "4 of 4")
        }
    }

    /// Shows the pages until a signal ends them.
    private func pages(_ jobFile: String, _ step: String) throws(CommandFailure) -> ExitStatus {
        guard composition.companionIfThere("clarity-jobs-web") != nil else {
            throw CommandFailure(
                .configuration, "there is no program `clarity-jobs-web`, which shows the pages",
                "help: install the package clarity-jobs-web too")
        }
        say("")
        say("\(step): showing them on web pages. Ctrl-C ends the demo and removes its data.")
        say(
            "Other commands work in another terminal, such as `metrics`, `records`, `explain`, after:"
        )
        say("  export CLARITY_JOBS_CONFIG=\(shellQuoted(jobFile))")
        let listen = composition.arguments["listen"].map { ["--listen", $0] } ?? []
        return try program(["serve"] + listen, jobFile)
    }

    /// Runs a command of this program with the demo's job file alone.
    private func program(
        _ words: [String], _ jobFile: String, input: String? = nil
    ) throws(CommandFailure) -> ExitStatus {
        let environment = composition.environment.filter { !$0.key.hasPrefix("CLARITY_JOBS_") }
        let status = try ForegroundProgram.run(
            [try composition.ownProgram()] + words + ["--config", jobFile],
            input: input.map { Array($0.utf8) }, environment: environment,
            forwards: [SIGTERM, SIGHUP])
        return ExitStatus(rawValue: status) ?? .failed
    }

    private func say(_ line: String) { composition.console.note(line) }
}

/// A stand-in for a CLARITY server, which ends with its owner, however that ends.
private final class StandIn {
    let url: String
    /// The other end of its standard input, at whose end it ends, and of its standard output.
    private let input, output: Int32

    init(_ program: String, data: String) throws(CommandFailure) {
        var ends: [Int32] = [-1, -1, -1, -1]
        guard clinux_pipe(&ends) == 0,
            ends.withUnsafeMutableBufferPointer({ ends in
                ends.baseAddress.map { clinux_pipe($0 + 2) } == 0
            })
        else {
            throw CommandFailure(.unreachable, "cannot make a pipe: \(SystemError().reason)")
        }
        (input, output) = (ends[1], ends[2])
        // A shell gives a program in the background no input of its own.
        let shell = ["/bin/sh", "-c", "exec 3<&0; \"$0\" \"$@\" <&3 3<&- &"]
        // It has processed an upload when it is asked for the first time: nobody waits.
        let words = [
            "--listen", "127.0.0.1:0", "--data", data, "--processing-steps", "1",
            "--exit-with-stdin",
        ]
        _ = try ForegroundProgram.run(
            shell + [program] + words, outputs: [STDIN_FILENO: ends[0], STDOUT_FILENO: ends[3]])
        close(ends[0])
        close(ends[3])
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        guard let word = String(decoding: line, as: UTF8.self).split(separator: " ").last else {
            throw CommandFailure(.unreachable, "the stand-in for a server did not start")
        }
        url = String(word)
    }

    deinit {
        close(input)
        // At the end of its output it has ended, and writes nothing any more.
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1 {}
        close(output)
    }
}

/// An invented export of the Health app: sixty days of one person, up to the present.
///
/// The same time gives the same export. Its records have the form of those of a phone and a watch,
/// so that everything that reads an export reads this one.
struct DemoExport {
    /// The number of days, the present one included.
    static let days = 60

    private let now: Instant
    private let zone: Zone
    private var random: SeededGenerator
    private var lines: [String] = []

    private enum Device: String {
        case phone = "Demo iPhone"
        case watch = "Demo Watch"
    }

    /// The XML of the export.
    static func text(at now: Instant, in zone: Zone) -> String {
        var export = DemoExport(now, zone)
        let time = zone.text(now).dropFirst("2026-11-20T".count).prefix("23:59:59".count)
        let parts = time.split(separator: ":").compactMap { Int($0) }
        let sinceMidnight = parts.reduce(0) { $0 * 60 + $1 }
        for day in (0..<days).reversed() {
            export.add(dayFrom: now - .seconds(sinceMidnight + day * 86_400), ago: day)
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">
             <ExportDate value="\(export.date(now))"/>
            \(export.lines.joined(separator: "\n"))
            </HealthData>

            """
    }

    private init(_ now: Instant, _ zone: Zone) {
        self.now = now
        self.zone = zone
        random = SeededGenerator(seed: 1)
    }

    // MARK: A day

    private mutating func add(dayFrom midnight: Instant, ago: Int) {
        addNight(before: midnight)
        // Somebody who moves more at weekends, and a little more from week to week.
        let vigour = (ago % 7 < 2 ? 1.4 : 1) * (1.15 - Double(ago) / 400)
        for hour in 7..<22 {
            let start = midnight + .seconds(hour * 3600 + number(0...1200))
            let end = start + .seconds(number(600...1500))
            let steps = Double(number(100...1100)) * vigour
            add("StepCount", "count", .phone, start, end, steps.rounded())
            add("DistanceWalkingRunning", "km", .phone, start, end, steps * 0.00072)
            add("ActiveEnergyBurned", "kcal", .watch, start, end, steps * 0.041)
        }
        for half in 0..<48 {
            let time = midnight + .seconds(half * 1800 + number(0...900))
            let isAsleep = half < 13 || half > 45
            add("HeartRate", "count/min", .watch, time, time, value(isAsleep ? 50...60 : 62...104))
        }
        let morning = midnight + .seconds(7 * 3600)
        let resting = 57 + Double(ago) / 30
        add(
            "RestingHeartRate", "count/min", .watch, midnight, morning, value(resting...resting + 3)
        )
        add("HeartRateVariabilitySDNN", "ms", .watch, morning, morning, value(38...72))
        add("OxygenSaturation", "%", .watch, morning, morning, value(95...99) / 100)
        if ago % 7 == 0 {
            add("BodyMass", "kg", .phone, morning, morning, 72 + Double(ago) / 40)
        }
        if ago % 3 == 1 { addWorkout(from: midnight + .seconds(18 * 3600)) }
    }

    private mutating func addNight(before midnight: Instant) {
        let stages = ["AsleepCore", "AsleepDeep", "AsleepCore", "AsleepREM", "Awake"]
        var start = midnight - .seconds(number(0...3600))
        let end = midnight + .seconds(6 * 3600 + number(0...3600))
        var stage = 0
        while start < end {
            let name = stages[stage % stages.count]
            let stop = min(
                end, start + .seconds(name == "Awake" ? number(120...600) : number(1200...3000)))
            if stop <= now {
                lines.append(
                    element(
                        "Record", "HKCategoryTypeIdentifierSleepAnalysis", .watch, start, stop,
                        "value=\"HKCategoryValueSleepAnalysis\(name)\"/>"))
            }
            (start, stage) = (stop, stage + 1)
        }
        let breath = midnight + .seconds(3 * 3600)
        add("RespiratoryRate", "count/min", .watch, breath, breath, value(13...17))
    }

    private mutating func addWorkout(from start: Instant) {
        let minutes = number(25...50)
        let end = start + .seconds(minutes * 60)
        guard end <= now else { return }
        let statistics = [
            ("ActiveEnergyBurned", "kcal", minutes * 11),
            ("DistanceWalkingRunning", "km", minutes / 6),
        ].map { name, unit, sum in
            "<WorkoutStatistics type=\"HKQuantityTypeIdentifier\(name)\" startDate=\"\(date(start))\" "
                + "endDate=\"\(date(end))\" sum=\"\(sum)\" unit=\"\(unit)\"/>"
        }
        lines.append(
            " <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"\(minutes)\" "
                + "durationUnit=\"min\" \(attributes(.watch, start, end))>\(statistics.joined())"
                + "</Workout>")
    }

    // MARK: Elements

    private mutating func add(
        _ type: String, _ unit: String, _ device: Device, _ start: Instant, _ end: Instant,
        _ value: Double
    ) {
        // Nothing is known of the future.
        guard end <= now else { return }
        let rounded = (value * 1000).rounded() / 1000
        lines.append(
            element(
                "Record", "HKQuantityTypeIdentifier\(type)", device, start, end,
                "unit=\"\(unit)\" value=\"\(rounded)\"/>"))
    }

    private func element(
        _ name: String, _ type: String, _ device: Device, _ start: Instant, _ end: Instant,
        _ rest: String
    ) -> String {
        " <\(name) type=\"\(type)\" \(attributes(device, start, end)) \(rest)"
    }

    private func attributes(_ device: Device, _ start: Instant, _ end: Instant) -> String {
        "sourceName=\"\(device.rawValue)\" sourceVersion=\"1.0\" creationDate=\"\(date(end))\" "
            + "startDate=\"\(date(start))\" endDate=\"\(date(end))\""
    }

    /// Returns a time as the Health app writes it: `2026-11-20 07:30:00 +0100`.
    private func date(_ instant: Instant) -> String {
        let text = zone.text(instant)
        let offset = text.hasSuffix("Z") ? "+0000" : String(text.suffix(6).filter { $0 != ":" })
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) \(offset)"
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    private mutating func value(_ range: ClosedRange<Double>) -> Double {
        (Double.random(in: range, using: &random) * 10).rounded() / 10
    }
}
