import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// What `init` asks, and the job file that follows from it.
struct SetupAnswers: Equatable {
    /// What the person wants.
    enum Goal: String, CaseIterable {
        /// Keep the data of an export on this machine, and look at it.
        case keep
        /// Send it to a CLARITY server.
        case send
        /// Run programs of one's own.
        case jobs
    }

    /// How samples get to this machine.
    enum Source: String, CaseIterable {
        case appleHealth = "apple-health-export"
        case autoExport = "health-auto-export"
        case spool

        /// Where such files usually are.
        var usualPath: String {
            switch self {
            case .appleHealth: "~/Health/export.zip"
            case .autoExport: "~/Health/auto-export"
            case .spool: "~/Health/spool"
            }
        }
    }

    /// When the machine may upload.
    enum Hours: String, CaseIterable {
        /// While nobody uses it and the network is unmetered.
        case idle
        /// Whenever there is a network.
        case always
    }

    /// Whether the person has an account.
    enum Account: String, CaseIterable {
        case yes
        case no
    }

    /// Who is to be registered.
    struct Newcomer: Equatable {
        var firstName: String
        var lastName: String
    }

    /// What starts the jobs.
    enum Starter: String, CaseIterable {
        case systemd
        case cron
        case none
    }

    static let importJob = "com.clarity.import"
    static let uploadJob = "com.clarity.healthkit.upload"

    var goal = Goal.send
    var backend = ""
    var email = ""
    /// Who is registered before the login; `nil` with an account.
    var newcomer: Newcomer?
    var source = Source.appleHealth
    var path = "~/Health/export.zip"
    var timeZone = "UTC"
    var hours = Hours.idle
    /// The first job of somebody who runs programs of their own, as a shell reads it, and when.
    var command = ""
    var schedule = ""
    var starter = Starter.none
    /// The state directory, if it is not the usual one: whatever starts the jobs must find it.
    var stateDirectory: String?

    /// The job file, with the comments that a first reader needs.
    var jobFile: String {
        switch goal {
        case .keep:
            head(
                "Keeps your health data on this machine, encrypted, and sends it nowhere.", "import"
            )
                + keeping
        case .send:
            head(
                "The jobs that sync your health data with CLARITY.", "upload", backend: backend)
                + sending
        case .jobs: ownJobs
        }
    }

    private var zone: String { ImportedFile.quoted(timeZone) }

    /// The beginning of a job file that reads samples.
    ///
    /// - Parameters:
    ///   - summary: what the file is for.
    ///   - reader: what waits for a file that does not exist yet.
    private func head(_ summary: String, _ reader: String, backend: String? = nil) -> String {
        let server =
            backend.map { "backend:\n  url: \(ImportedFile.quoted($0))\n\n" }
                ?? """
                # A server that is to get the data too; the jobs that it needs are in docs/jobs.md.
                # backend: { url: https://clarity.example/api/v1 }


                """
        return """
            # \(summary) `clarity-jobs validate` checks this file;
            # `man clarity-jobs.yaml` has every key. Never write passwords or keys here.
            version: 1

            \(server)# The files to read. If a file does not exist yet, the \(reader) waits for it.
            sources:
              - kind: \(source.rawValue)
                path: \(ImportedFile.quoted(path))
                \(source == .spool ? "# Files of samples come here; docs/sources.md has their form." : "time_zone: \(zone)")

            \(store)# Whom to tell when a job fails or needs you. Try it with `clarity-jobs notify test`.
            # notify:
            #   - { kind: ntfy, url: https://ntfy.sh/a-topic-that-nobody-guesses }

            defaults:
              time_zone: \(zone)

            jobs:

            """
    }

    /// The name of the first job: that of its program.
    var jobName: String {
        let program = command.split(separator: " ").first ?? ""
        let name = (program.split(separator: "/").last ?? "").lowercased()
        let letters = name.unicodeScalars.filter { scalar in
            "abcdefghijklmnopqrstuvwxyz0123456789-".unicodeScalars.contains(scalar)
        }
        return letters.contains { $0 != "-" } ? String(String.UnicodeScalarView(letters)) : "job"
    }

    private var ownJobs: String {
        """
        # Programs that run on a schedule. `clarity-jobs validate` checks this file;
        # `man clarity-jobs.yaml` has every key. `clarity-jobs import-jobs crontab` prints yours in this form.
        version: 1

        \(store)# Whom to tell when a job fails or needs you. Try it with `clarity-jobs notify test`.
        # notify:
        #   - { kind: ntfy, url: https://ntfy.sh/a-topic-that-nobody-guesses }

        defaults:
          time_zone: \(zone)

        jobs:
          # Also: constraints, retry, timeout, and the jobs that follow this one.
          - id: \(ImportedFile.quoted(jobName))
            kind: command
            schedule: \(ImportedFile.quoted(schedule))
            options:
              command: [/bin/sh, -c, \(ImportedFile.quoted(command))]

        """
    }

    private var store: String {
        stateDirectory.map {
            "# The history and the encrypted data.\nstore:\n  directory: \(ImportedFile.quoted($0))\n\n"
        } ?? ""
    }

    private static let cleanup = """
          - id: com.clarity.cleanup
            kind: cleanup
            schedule: { cron: "30 3 * * *" }

        """

    /// The jobs without a server.
    private var keeping: String {
        """
          # Also starts when the export changes.
          - id: \(SetupAnswers.importJob)
            kind: import
            schedule: { every: 1d }
            on: [source-changed]

        \(SetupAnswers.cleanup)
        """
    }

    /// The five jobs of the app.
    private var sending: String {
        let constraints =
            switch hours {
            case .idle: "{ network: unmetered, battery_above: 20%, idle: true }"
            case .always: "{ network: any }"
            }
        return """
              - id: com.clarity.refresh
                kind: refresh
                class: app-refresh
                schedule: { every: 4h }
                constraints: { network: any }

              # Also starts when the export changes or the network comes back.
              - id: \(SetupAnswers.uploadJob)
                kind: bulk-upload
                schedule: { every: 1h, earliest_begin: 15m }
                on: [source-changed, network-restored]
                constraints: \(constraints)
                then: [com.clarity.processing-status]

              - id: com.clarity.processing-status
                kind: processing-status
                schedule: { every: 15m }

              - id: com.clarity.insights
                kind: insight-history
                schedule: { cron: "0 6,18 * * *" }
                on: [upload-completed]

            \(SetupAnswers.cleanup)
            """
    }
}

extension SetupAnswers {
    /// Returns a job file with which a backend is asked whether it is there, without patience: a
    /// person waits.
    static func probe(of address: String) -> String {
        """
        version: 1
        backend: { url: \(ImportedFile.quoted(address)), retry_wait: 100ms }
        jobs: [{ id: probe, kind: cleanup, schedule: 1d }]

        """
    }

    /// Returns the addresses that a person may mean by what they typed, the likeliest first: with
    /// https if no scheme was typed, and with the path of the API.
    static func addresses(typed text: String) -> [String] {
        var text = text
        while text.hasSuffix("/") { text.removeLast() }
        let parts = text.split(separator: "://", maxSplits: 1)
        let rest = String(parts.last ?? "")
        let host = rest.prefix { $0 != "/" }
        let isHere = host.hasPrefix("127.") || host.prefix { $0 != ":" } == "localhost"
        // Anybody on the way could read http.
        let scheme = isHere ? parts.count == 2 ? String(parts[0]) : "http" : "https"
        let address = "\(scheme)://\(rest)"
        if rest.hasSuffix("/api/v1") { return [address] }
        let both = ["\(address)/api/v1", address]
        return host.count == rest.count ? both : both.reversed()
    }
}

/// The file or folder of an export, before anything is set up for it.
enum ExportFile {
    /// Returns what is wrong with the file or folder at a path, as far as its first bytes show it;
    /// `nil` for an export.
    static func fault(at path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            return SystemError().reason
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            let names = WholeFile.readableNames(in: path) ?? []
            return names.contains { $0.lowercased().hasSuffix(".xml") }
                ? nil : "there is no export.xml in this folder"
        }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return SystemError().reason }
        defer { close(file) }
        var head = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &head, head.count)
        guard count > 0 else { return count < 0 ? SystemError().reason : "the file is empty" }
        let text = String(decoding: head[..<count], as: UTF8.self)
        let isExport =
            text.hasPrefix("PK") || text.contains("<?xml") || text.contains("<HealthData")
        return isExport ? nil : "this is no export of the Health app"
    }
}
