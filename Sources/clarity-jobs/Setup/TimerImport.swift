import ClarityHost
import ClarityScheduler

/// The jobs that stand for a systemd timer and its service.
struct TimerImport {
    let timer: UnitFile
    let service: UnitFile
    /// Whether the units belong to a user's own service manager.
    var isOfUser: Bool
    /// Whether the units are the system's, whose services run as root unless they say otherwise.
    var isOfSystem: Bool
    /// The user for whom the jobs are to run, and their home folder.
    var user: String
    var home: String
    var hasZone: (String) -> Bool

    /// The part of a job file that says what systemd does and clarity-jobs would do otherwise.
    static let defaults =
        [
            "# As close to systemd as a job file can be; delete a line to get the default beside it.",
            "defaults:",
        ] + ImportedFile.defaults

    private var stem: String {
        timer.name.hasSuffix(".timer") ? String(timer.name.dropLast(6)) : timer.name
    }
    private var title: String {
        timer.value("Unit", "Description") ?? service.value("Unit", "Description") ?? stem
    }

    /// Returns a job for each time that the timer names, or the reason why there is none.
    func parts() -> [ImportedPart] {
        var remarks = ["\(timer.name): \(title)"]
        do throws(Unkept) {
            try checkUser()
            var job = ImportedJob(name: stem, remarks: [])
            var script = ServiceScript(service, home: home, user: user)
            try script.add()
            (job.command, job.umask) = (script.words, script.umask)
            job.environment = try environment()
            addFolder(to: &job, &remarks)
            addKeys(to: &job, &remarks)
            remarks += script.remarks
            let schedules = try schedules(&remarks)
            remarks += strangers()
            if schedules.count > 1 {
                remarks.append(
                    "a job has one rule: each of its \(schedules.count) has a job of its own")
            }
            return schedules.enumerated().map { index, schedule in
                var own = job
                own.remarks = index == 0 ? remarks : ["\(timer.name): the same at another time"]
                own.schedule = schedule.keys
                own.keys = schedule.ofJob + job.keys
                return .job(own)
            }
        } catch {
            return [.lost(["\(timer.name): not kept: \(error.why)"])]
        }
    }

    /// Why a timer cannot be kept at all.
    struct Unkept: Error {
        var why: String
        init(_ why: String) { self.why = why }
    }

    private func checkUser() throws(Unkept) {
        let named = service.value("Service", "User").flatMap {
            service.expanded($0, home: home, user: user)
        }
        guard let runner = named ?? (isOfSystem ? "root" : nil), runner != user else { return }
        throw Unkept("it runs as `\(runner)`, and a job file has one user: import it as that one")
    }

    // MARK: When

    private struct Times {
        var keys: [(key: String, value: String)] = []
        var jobKeys: [(key: String, value: String)] = []
        /// The events that start it as well.
        var events: [String] = []

        /// The keys of the job that say when it starts.
        var ofJob: [(key: String, value: String)] {
            let on = events.isEmpty ? [] : [("on", "[\(events.joined(separator: ", "))]")]
            return on + jobKeys
        }
    }

    private func schedules(_ remarks: inout [String]) throws(Unkept) -> [Times] {
        let delay = try span("RandomizedDelaySec") ?? .zero
        if timer.flag("Timer", "WakeSystem") == true {
            remarks.append("not kept: WakeSystem: clarity-jobs does not wake the machine")
        }
        if let accuracy = timer.value("Timer", "AccuracySec") {
            remarks.append("AccuracySec=\(accuracy): clarity-jobs starts it at the time itself")
        }
        let catchUp = timer.flag("Timer", "Persistent") == true ? "latest" : "none"
        var times: [Times] = []
        var faults: [String] = []
        for setting in timer.all("Timer", "OnCalendar") {
            var own = Times()
            do throws(Unkept) {
                try own.keys.append(("calendar", ImportedFile.quoted(calendar(setting.value))))
            } catch {
                faults.append("\(setting.place): \(error.why)")
                continue
            }
            add(delay, below: .seconds(86_401), to: &own, &remarks)
            own.jobKeys.append(("catch_up", catchUp))
            times.append(own)
        }
        let booting = ["OnBootSec", "OnStartupSec", "OnActiveSec"].filter {
            timer.value("Timer", $0) != nil
        }
        if let monotonic = try repeating(delay, boots: !booting.isEmpty, &remarks) {
            times.append(monotonic)
        } else if !booting.isEmpty {
            times.append(Times(keys: [("cron", "\"@reboot\"")]))
        }
        for key in booting {
            let wait = timer.value("Timer", key) ?? ""
            remarks.append(
                "not kept: \(key)=\(wait): it starts as soon as the loop does after a boot")
        }
        let watchesClock = timer.flag("Timer", "OnClockChange") == true
        if times.isEmpty, watchesClock { times.append(Times()) }
        guard !times.isEmpty else {
            throw Unkept(faults.isEmpty ? "it names no time" : faults.joined(separator: "; "))
        }
        remarks += faults.map { "not kept: \($0)" }
        if watchesClock { times[0].events.append("clock-changed") }
        return times
    }

    /// Returns the schedule of `OnUnitActiveSec` and `OnUnitInactiveSec`.
    private func repeating(
        _ delay: Duration, boots: Bool, _ remarks: inout [String]
    ) throws(Unkept) -> Times? {
        let active = try span("OnUnitActiveSec")
        let inactive = try span("OnUnitInactiveSec")
        guard let period = active ?? inactive else { return nil }
        guard .seconds(1)...(.seconds(366 * 86_400)) ~= period else {
            throw Unkept("a job repeats every 1s to 366d")
        }
        var times = Times(keys: [("every", spanText(period))])
        if active == nil { times.keys.append(("earliest_begin", spanText(period))) }
        add(delay, below: period, to: &times, &remarks)
        if boots { times.events.append("boot") }
        times.jobKeys.append(("catch_up", "latest"))
        return times
    }

    private func add(
        _ delay: Duration, below limit: Duration, to times: inout Times, _ remarks: inout [String]
    ) {
        guard delay > .zero else { return }
        guard delay < limit else {
            remarks.append(
                "not kept: RandomizedDelaySec of \(delay.text), longer than a job's may be")
            return
        }
        times.keys.append(("randomized_delay", spanText(delay)))
        if timer.flag("Timer", "FixedRandomDelay") != true {
            remarks.append("its random delay is the same each time, as with FixedRandomDelay")
        }
    }

    private func calendar(_ text: String) throws(Unkept) -> String {
        let expression: CalendarExpression
        do throws(ExpressionError) {
            expression = try CalendarExpression(text)
        } catch {
            throw Unkept("OnCalendar=\(text): \(error)")
        }
        if expression.neverFires { throw Unkept("OnCalendar=\(text) names no date") }
        if let zone = expression.timeZone, zone != "UTC", !hasZone(zone) {
            throw Unkept("OnCalendar=\(text): this machine knows no time zone `\(zone)`")
        }
        return text
    }

    private func span(_ key: String) throws(Unkept) -> Duration? {
        guard let text = timer.value("Timer", key) else { return nil }
        guard let span = UnitFile.span(text) else { throw Unkept("\(key)=\(text) is no span") }
        return span
    }

    // MARK: What and how

    private func environment() throws(Unkept) -> [(name: String, value: String)] {
        var variables: [(name: String, value: String)] = []
        for setting in service.all("Service", "Environment") {
            guard let words = UnitFile.words(setting.value) else {
                throw Unkept("\(setting.place): Environment has an open quote")
            }
            for word in words.compactMap(\.self) {
                guard let text = service.expanded(word, home: home, user: user),
                    let equals = text.firstIndex(of: "=")
                else { throw Unkept("\(setting.place): cannot read Environment=\(word)") }
                let name = String(text[..<equals])
                variables.removeAll { $0.name == name }
                variables.append((name, String(text[text.index(after: equals)...])))
            }
        }
        return variables
    }

    private func addFolder(to job: inout ImportedJob, _ remarks: inout [String]) {
        guard var folder = service.value("Service", "WorkingDirectory") else {
            if isOfUser { job.folder = "~" }
            return
        }
        if folder.hasPrefix("-") {
            folder.removeFirst()
            remarks.append("not kept: `-` of WorkingDirectory: the folder must exist")
        }
        guard let path = service.expanded(folder, home: home, user: user) else {
            remarks.append("not kept: WorkingDirectory=\(folder)")
            return
        }
        job.folder = path
    }

    private func addKeys(to job: inout ImportedJob, _ remarks: inout [String]) {
        var constraints: [String] = []
        let units = ["After", "Wants", "Requires"].flatMap { service.all("Unit", $0).map(\.value) }
        if units.contains(where: { $0.split(separator: " ").contains("network-online.target") }) {
            constraints.append("network: any")
        }
        if let isWanted = service.flag("Unit", "ConditionACPower") {
            if isWanted {
                constraints.append("external_power: true")
            } else {
                remarks.append("not kept: ConditionACPower=no: no constraint asks for the battery")
            }
        }
        if !constraints.isEmpty {
            job.keys.append(("constraints", "{ \(constraints.joined(separator: ", ")) }"))
        }
        if let limit = timeLimit(&remarks) { job.keys.append(("timeout", spanText(limit))) }
        if let text = service.value("Service", "MemoryMax"), text != "infinity" {
            if let bytes = UnitFile.bytes(text), (16 << 20)...(1 << 40) ~= bytes {
                job.keys.append(("memory_limit", sizeText(bytes)))
            } else {
                remarks.append("not kept: MemoryMax=\(text)")
            }
        }
    }

    /// Returns the time limit: that of the start for `oneshot`, whose start is its whole run.
    private func timeLimit(_ remarks: inout [String]) -> Duration? {
        var keys = ["RuntimeMaxSec"]
        if service.value("Service", "Type") == "oneshot" {
            keys = ["TimeoutStartSec", "TimeoutSec"]
        }
        for key in keys {
            guard let text = service.value("Service", key), text != "infinity", text != "0" else {
                continue
            }
            if let span = UnitFile.span(text), .seconds(1)...(.seconds(7 * 86_400)) ~= span {
                return span
            }
            remarks.append("not kept: \(key)=\(text): a time limit is 1s to 7d")
        }
        return nil
    }

    /// Returns a remark for each setting that nothing above has kept.
    private func strangers() -> [String] {
        let known: [String: Set<String>] = [
            "timer Unit": [
                "Description", "Documentation", "DefaultDependencies", "Before", "After",
                "Conflicts",
            ],
            "Timer": [
                "OnCalendar", "OnBootSec", "OnStartupSec", "OnActiveSec", "OnUnitActiveSec",
                "OnUnitInactiveSec", "OnClockChange", "Persistent", "RandomizedDelaySec",
                "FixedRandomDelay", "AccuracySec", "WakeSystem", "Unit",
            ],
            "service Unit": [
                "Description", "Documentation", "After", "Before", "Conflicts", "Wants", "Requires",
                "ConditionACPower", "DefaultDependencies",
            ],
            "Service": ServiceScript.keys.union([
                "User", "WorkingDirectory", "Environment", "TimeoutStartSec", "TimeoutSec",
                "RuntimeMaxSec", "MemoryMax",
            ]),
        ]
        let all =
            timer.settings.map { ($0.section == "Unit" ? "timer Unit" : $0.section, $0) }
            + service.settings.map { ($0.section == "Unit" ? "service Unit" : $0.section, $0) }
        var seen: Set<String> = []
        return all.compactMap { section, setting in
            // What pulls a unit in says nothing of its runs.
            guard section != "Install", !setting.value.isEmpty,
                known[section]?.contains(setting.key) != true,
                seen.insert("\(section) \(setting.key)").inserted
            else { return nil }
            return
                "not kept: \(setting.place): \(setting.key)=\(setting.value): no key of a job does this"
        }
    }
}
