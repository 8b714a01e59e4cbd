import Platform

/// What `init` asks, and the job file that follows from it.
struct SetupAnswers: Equatable {
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

    var backend = ""
    var email = ""
    /// Who is registered before the login; `nil` with an account.
    var newcomer: Newcomer?
    var source = Source.appleHealth
    var path = "~/Health/export.zip"
    var timeZone = "UTC"
    var hours = Hours.idle
    var starter = Starter.none
    /// The state directory, if it is not the usual one: whatever starts the jobs must find it.
    var stateDirectory: String?

    /// The job file: the five jobs of the app, with the comments that a first reader needs.
    var jobFile: String {
        let zone = ImportedFile.quoted(timeZone)
        let store =
            stateDirectory.map {
                "# The history and the encrypted data.\nstore:\n  directory: \(ImportedFile.quoted($0))\n\n"
            } ?? ""
        let constraints =
            switch hours {
            case .idle: "{ network: unmetered, battery_above: 20%, idle: true }"
            case .always: "{ network: any }"
            }
        return """
            # The jobs that sync your health data with CLARITY. `clarity-jobs validate` checks this file;
            # `man clarity-jobs.yaml` has every key. Never write passwords or keys here.
            version: 1

            backend:
              url: \(ImportedFile.quoted(backend))

            # The files to read. If a file does not exist yet, the upload waits for it.
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
              - id: com.clarity.refresh
                kind: refresh
                class: app-refresh
                schedule: { every: 4h }
                constraints: { network: any }

              # Also starts when the export changes or the network comes back.
              - id: com.clarity.healthkit.upload
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

              - id: com.clarity.cleanup
                kind: cleanup
                schedule: { cron: "30 3 * * *" }

            """
    }
}
