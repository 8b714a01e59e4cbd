import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// `import-jobs`: prints a job file that does what a crontab or systemd timers do.
struct ImportJobsCommand: ComposedCommand {
    let composition: Composition
    private var operands: [String] { composition.arguments.operands }

    // MARK: A crontab

    /// Prints the job file of a crontab.
    func crontab() throws(CommandFailure) -> ExitStatus {
        guard operands.count <= 1 else {
            throw CommandFailure(
                .usage, "`import-jobs crontab` wants one file, got \(operands.count)")
        }
        let isSystems =
            composition.arguments.has("system")
            || operands.first == "/etc/crontab" || operands.first?.hasPrefix("/etc/cron.d/") == true
        let (text, source) = try crontabText()
        let crontab: Crontab
        do throws(ImportFaults) {
            crontab = try Crontab(
                text,
                by: Crontab.Reader(
                    source: source, namesUsers: isSystems, user: user, hasZone: composition.hasZone)
            )
        } catch {
            throw CommandFailure(.faultyInput, text: error.lines.joined(separator: "\n"))
        }
        return try show(
            ImportedFile(
                origin: "import-jobs crontab\(operands.map { " \($0)" }.joined())",
                defaults: Crontab.defaults, parts: crontab.parts))
    }

    /// Returns a crontab and its name for messages: a file's, the standard input's or the user's own.
    private func crontabText() throws(CommandFailure) -> (text: String, source: String) {
        if let file = operands.first {
            guard file == "-" else { return (try text(of: file), file) }
            return (try text(of: "/dev/stdin", named: "standard input"), "-")
        }
        let words = ["crontab", "-l"]
        let (status, output, errors) = try ForegroundProgram.captured(words)
        guard status == 0 else {
            let reason = errors.split(separator: "\n").first.map { ": \($0)" } ?? ""
            throw CommandFailure(
                .missingInput, "`crontab -l` ended with status \(status)\(reason)".printable,
                "help: name a file, or `-` for the standard input")
        }
        return (output, "crontab")
    }

    // MARK: Timers

    /// Prints the job file of timers and their services.
    func systemd() throws(CommandFailure) -> ExitStatus {
        let services = operands.filter { $0.hasSuffix(".service") }
        let timers = operands.filter { !$0.hasSuffix(".service") }
        guard !timers.isEmpty else {
            throw CommandFailure(
                .usage, "`import-jobs systemd` wants a timer or its file",
                "help: `systemctl list-timers` lists them")
        }
        var parts: [ImportedPart] = []
        var started: Set<String> = []
        for operand in timers {
            let timer = try find(operand.hasSuffix(".timer") ? operand : "\(operand).timer")
            let usual = "\(timer.unit.name.dropLast(".timer".count)).service"
            let name = timer.unit.value("Timer", "Unit") ?? usual
            started.insert(name)
            let own = services.first { leaf(of: $0) == name }
            let service = try find(own ?? name, beside: timer.folder)
            let isOfUser = usesUserUnits || timer.folder.contains("/systemd/user")
            parts += TimerImport(
                timer: timer.unit, service: service.unit, isOfUser: isOfUser,
                isOfSystem: !isOfUser && systemFolders.contains(timer.folder), user: user,
                home: composition.home, hasZone: composition.hasZone
            ).parts()
        }
        if let stray = services.first(where: { !started.contains(leaf(of: $0)) }) {
            throw CommandFailure(.usage, "none of the timers starts `\(stray)`")
        }
        return try show(
            ImportedFile(
                origin: "import-jobs systemd \(operands.joined(separator: " "))",
                defaults: TimerImport.defaults, parts: parts))
    }

    private var usesUserUnits: Bool { composition.arguments.has("user") }

    private let systemFolders = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system", "/lib/systemd/system",
    ]

    /// The folders in which the service manager looks for units, the first of which wins
    /// (systemd.unit(5)).
    private var folders: [String] {
        guard usesUserUnits else { return systemFolders }
        return [
            "\(composition.configurationFolder)/systemd/user", "/etc/systemd/user",
            "/run/systemd/user", "\(composition.home)/.local/share/systemd/user",
            "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
        ]
    }

    /// Returns a unit by the path of its file, or by its name, with its drop-ins and its folder.
    ///
    /// - Parameter beside: the folder to look into first.
    private func find(
        _ operand: String, beside first: String? = nil
    ) throws(CommandFailure) -> (unit: UnitFile, folder: String) {
        let name = leaf(of: operand)
        var unit = UnitFile(name: name)
        // An instance without a file of its own is made from its template.
        let template = name.firstIndex(of: "@").map { at in
            "\(name[...at])\(name[(name.lastIndex(of: ".") ?? at)...])"
        }
        let names = [name, template].compactMap(\.self)
        let places =
            operand.contains("/")
            ? [String(operand.dropLast(name.count + 1))] : [first].compactMap(\.self) + folders
        let found = places.lazy.flatMap { folder in names.map { (folder, $0) } }
            .first { access("\($0)/\($1)", F_OK) == 0 }
        guard let (folder, file) = found else {
            throw CommandFailure(
                .missingInput,
                operand.contains("/")
                    ? "no unit `\(operand)`" : "no unit `\(name)` in \(listed(places, "or"))",
                "help: name its file, such as `./\(name)`" + (usesUserUnits ? "" : ", or --user"))
        }
        try add("\(folder)/\(file)", to: &unit)
        var dropIns: [String: String] = [:]
        for folder in ([folder] + folders).reversed() {
            for name in names.reversed() {
                for file in WholeFile.readableNames(in: "\(folder)/\(name).d") ?? []
                where file.hasSuffix(".conf") {
                    dropIns[file] = "\(folder)/\(name).d/\(file)"
                }
            }
        }
        for (_, path) in dropIns.sorted(by: { $0.key < $1.key }) { try add(path, to: &unit) }
        return (unit, folder)
    }

    private func add(_ path: String, to unit: inout UnitFile) throws(CommandFailure) {
        let text = try text(of: path)
        do throws(ImportFaults) {
            try unit.add(text, from: path)
        } catch {
            throw CommandFailure(.faultyInput, text: error.lines.joined(separator: "\n"))
        }
    }

    // MARK: Both

    private func show(_ file: ImportedFile) throws(CommandFailure) -> ExitStatus {
        guard file.hasJobs else {
            throw CommandFailure(
                .faultyInput,
                text: (["`\(file.origin)` finds no job that a job file can have"] + file.losses)
                    .map(\.printable).joined(separator: "\n"))
        }
        file.lines.forEach(composition.console.result)
        return .done
    }

    /// The name of the user of this process.
    private var user: String { Composition.userName(geteuid()) ?? "\(geteuid())" }

    private func leaf(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// Returns the text of a file; nobody's crontab or unit has more than a mebibyte.
    private func text(of path: String, named name: String? = nil) throws(CommandFailure) -> String {
        let name = name ?? path
        let bytes: [UInt8]
        do throws(WholeFile.Fault) {
            bytes = try WholeFile.bytes(of: path, atMost: 1 << 20)
        } catch {
            throw CommandFailure(.missingInput, "cannot read `\(name)`: \(error.words)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.faultyInput, "\(name): is not UTF-8")
        }
        return text
    }
}
