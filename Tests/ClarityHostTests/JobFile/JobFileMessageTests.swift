import ClarityHost
import ClarityScheduler
import Testing

@Suite struct JobFileMessageTests {
    @Test(arguments: [
        MessageCase(
            job: "retrys: {}",
            "jobs.yaml:6:5: unknown key `retrys` in job `a`; did you mean `retry`?"),
        MessageCase(
            job: "colour: red",
            """
            jobs.yaml:6:5: unknown key `colour` in job `a`
            help: its keys are `id`, `kind`, `class`, `priority`, `enabled`, `schedule`, `on`, \
            `then`, `group`, `warning`, `constraints`, `retry`, `overlap`, `catch_up`, `on_lost`, \
            `start_within`, `relax`, `timeout`, `stall`, `expect`, `memory_limit`, `machine` and \
            `options`
            """),
        MessageCase(
            job: "machine: the nas",
            """
            jobs.yaml:6:14: machine name `the nas` is not allowed
            help: a name is 1 to 64 letters, digits, `-`, `_` or `.`
            """),
        MessageCase(
            job: "page_size: 7",
            """
            jobs.yaml:6:5: unknown key `page_size` in job `a`
            help: put `page_size` below `options:`
            """),
        MessageCase(
            job: "schedule: { evry: 1h, every: 1h }",
            "jobs.yaml:6:17: unknown key `evry` in `schedule` of job `a`; did you mean `every`?"),
        MessageCase(
            job: "", top: "job: []",
            "jobs.yaml:7:1: unknown key `job` in the job file; did you mean `jobs`?"),
        MessageCase(
            job: "options: { page_sise: 7 }",
            "jobs.yaml:6:16: unknown key `page_sise` in `options` of job `a`; "
                + "did you mean `page_size`?"),
        MessageCase(
            job: "options: { page_size:7 }",
            """
            jobs.yaml:6:16: `page_size:7` in `options` of job `a` has no space after its `:`
            help: put a space after `:`
            """),
        MessageCase(
            job: "", top: "  - { id: b, kind: bulk-upload, options: { page_size: 7 } }",
            """
            jobs.yaml:7:44: unknown key `page_size` in `options` of job `b`
            help: `options` of job `b` has no keys
            """),
    ])
    func `an unknown key is reported with the nearest known one`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test(arguments: [
        MessageCase(
            "version: 1\nbackend: { url: 'https://clarity.example' }\njobs: { id: a }",
            """
            jobs.yaml:3:7: `jobs` is a mapping, wanted a list
            help: put it into brackets: `[{ ... }]`
            """),
        MessageCase(
            "version: 1\nbackend: { url: 'https://clarity.example' }\njobs:\n  a: { kind: b }",
            """
            jobs.yaml:4:3: `jobs` is a mapping, wanted a list
            help: start each job with `- id:`
            """),
        MessageCase(
            "version: 1\njobs:\n  id: a",
            """
            jobs.yaml:3:3: `jobs` is a mapping, wanted a list
            help: put `- ` before `id:`, and indent its other keys as far
            """),
        MessageCase(
            job: "", top: "sources:\n  kind: spool\n  path: x",
            """
            jobs.yaml:8:3: `sources` is a mapping, wanted a list
            help: put `- ` before `kind:`, and indent its other keys as far
            """),
        MessageCase(
            job: "retry: none",
            """
            jobs.yaml:6:12: `retry` of job `a` is text, wanted a mapping
            help: such as `retry: { attempts: 1 }`
            """),
        MessageCase(
            job: "constraints: unmetered",
            """
            jobs.yaml:6:18: `constraints` of job `a` is text, wanted a mapping
            help: such as `constraints: { network: unmetered }`
            """),
        MessageCase(
            "- a", "jobs.yaml:1:1: the job file is a list, wanted a mapping"),
        MessageCase("# nothing\n", "jobs.yaml: the file is empty, wanted `version: 1` and `jobs`"),
        MessageCase("", "jobs.yaml: the file is empty, wanted `version: 1` and `jobs`"),
        MessageCase("---\n", "jobs.yaml:2:1: the job file is empty, wanted a mapping"),
        MessageCase(
            job: "schedule: [90]",
            "jobs.yaml:6:15: `schedule` of job `a` is a list, wanted a cron expression or a "
                + "calendar expression or a mapping"
        ),
        MessageCase(
            job: "schedule:",
            "jobs.yaml:6:14: `schedule` of job `a` is empty, wanted a cron "
                + "expression or a calendar expression"),
        MessageCase(
            job: "timeout: [30s]",
            "jobs.yaml:6:14: `timeout` of job `a` is a list, wanted a span of time"),
        MessageCase(
            job: "enabled: ~",
            "jobs.yaml:6:14: `enabled` of job `a` is empty, wanted `true` or `false`"),
        MessageCase(
            job: "on: source-changed",
            """
            jobs.yaml:6:9: `on` of job `a` is text, wanted a list
            help: write `[source-changed]`
            """),
        // Without a help line: these texts are no list elements as they are, nor fit for a
        // terminal.
        MessageCase(
            job: "on: source\tchanged",
            "jobs.yaml:6:9: `on` of job `a` is text, wanted a list"),
        MessageCase(
            job: "on: source, changed",
            "jobs.yaml:6:9: `on` of job `a` is text, wanted a list"),
        MessageCase(
            job: "on: \(String(repeating: "a", count: 61))",
            "jobs.yaml:6:9: `on` of job `a` is text, wanted a list"),
        MessageCase(
            job: "then: { done: [b] }",
            """
            jobs.yaml:6:13: unknown key `done` in `then` of job `a`
            help: its keys are `succeeded` and `failed`
            """),
        MessageCase(
            job: "then: b",
            """
            jobs.yaml:6:11: `then` of job `a` is text, wanted a list
            help: write `[b]`
            """),
        MessageCase(
            job: "then: [{ id: b }]",
            "jobs.yaml:6:12: entry 1 of `then` of job `a` is a mapping, wanted text"),
        MessageCase(
            job: "", top: "  - null", "jobs.yaml:7:5: entry 2 of `jobs` is empty, wanted a mapping"),
        MessageCase(
            job: "options: true",
            "jobs.yaml:6:14: `options` of job `a` is a boolean, wanted a mapping"),
        MessageCase(
            job: "", top: "sources: [x]",
            "jobs.yaml:7:11: entry 1 of `sources` is text, wanted a mapping"),
    ])
    func `a value of another type is reported with the wanted one`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test(arguments: [
        MessageCase(
            """
            version: 1
            jobs:
              - name: backup
                kind: command
                schedule: 1h
                options: { program: /bin/true }
            """,
            """
            jobs.yaml:3:5: unknown key `name` in entry 1 of `jobs`
            help: call it `id`
            """),
        MessageCase(
            "jobs: []", "jobs.yaml:1:1: the job file has no `version`"),
        MessageCase(
            "version: 1\nbackend: {}",
            "jobs.yaml:1:1: the job file has no `jobs`",
            "jobs.yaml:2:10: `backend` has no `url`"),
        MessageCase(
            job: "", top: "  - class: processing\n  - { id: c }",
            "jobs.yaml:7:5: entry 2 of `jobs` has no `id`",
            "jobs.yaml:7:5: entry 2 of `jobs` has no `kind`",
            "jobs.yaml:8:5: job `c` has no `kind`"),
        MessageCase(
            job: "", top: "sources:\n- kind: spool\n- path: x",
            "jobs.yaml:8:3: entry 1 of `sources` has no `path`",
            "jobs.yaml:9:3: entry 2 of `sources` has no `kind`"),
        MessageCase(
            job: "", top: "  - { id: b, kind: command }",
            "jobs.yaml:7:5: `options` of job `b` has no `program`"),
        MessageCase(
            job: "", top: "  - { id: b, kind: command, options: {} }",
            "jobs.yaml:7:38: `options` of job `b` has no `program`"),
        MessageCase(
            job: "schedule: { earliest_begin: 5m }",
            "jobs.yaml:6:15: `schedule` of job `a` has none of `every`, `cron`, `calendar` "
                + "and `at`"),
        MessageCase(
            "version: 2\njobs: 7",
            """
            jobs.yaml:1:10: version `2` is not supported
            help: this program reads `version: 1`
            """),
        MessageCase(
            "version: '1'\njobs: 7",
            """
            jobs.yaml:1:10: version `1` is not supported
            help: this program reads `version: 1`
            """),
    ])
    func `what is missing is reported where it should stand`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test(arguments: [
        MessageCase(
            job: "timeout: 90",
            "jobs.yaml:6:14: timeout `90` has no unit; write `90s`, `90m` or `90h`"),
        MessageCase(
            job: "timeout: 4 hours",
            """
            jobs.yaml:6:14: timeout `4 hours` is not a span of time
            help: write it as `4h`
            """),
        MessageCase(
            job: "timeout: 500ms",
            "jobs.yaml:6:14: timeout `500ms` is out of range, wanted 1s to 7d"),
        MessageCase(
            job: "retry: { initial: 5s }",
            "jobs.yaml:6:23: initial `5s` is out of range, wanted 10s to 5h"),
        MessageCase(
            job: "retry: { maximum: 6h }",
            "jobs.yaml:6:23: maximum `6h` is out of range, wanted 10s to 5h"),
        MessageCase(
            job: "retry: { attempts: five }",
            """
            jobs.yaml:6:24: attempts `five` is not a whole number
            help: write it in digits, without quotes
            """),
        MessageCase(
            job: "retry: { attempts: '5' }",
            """
            jobs.yaml:6:24: attempts `5` is not a whole number
            help: write it in digits, without quotes
            """),
        MessageCase(
            job: "retry: { attempts: 99999999999999999999 }",
            "jobs.yaml:6:24: attempts `99999999999999999999` is out of range, wanted 1 to 100"),
        MessageCase(
            job: "memory_limit: 256",
            "jobs.yaml:6:19: memory_limit `256` has no unit; write `256MiB` or `256GiB`"),
        MessageCase(
            job: "memory_limit: 256MB",
            """
            jobs.yaml:6:19: memory_limit `256MB` is not a size
            help: write it as `64KiB`, `500MiB`, `2GiB` or `1TiB`
            """),
        MessageCase(
            job: "memory_limit: 15MiB",
            "jobs.yaml:6:19: memory_limit `15MiB` is out of range, wanted 16MiB to 1TiB"),
        MessageCase(
            job: "memory_limit: 9999999999TiB",
            "jobs.yaml:6:19: memory_limit `9999999999TiB` is out of range, wanted 16MiB to 1TiB"),
        MessageCase(
            job: "constraints: { battery_above: 20 }",
            "jobs.yaml:6:35: battery_above `20` has no unit; write `20%`"),
        MessageCase(
            job: "constraints: { battery_above: full }",
            """
            jobs.yaml:6:35: battery_above `full` is not a percentage
            help: write it as `20%`
            """),
        MessageCase(
            job: "constraints: { pressure_below: 101% }",
            "jobs.yaml:6:36: pressure_below `101%` is out of range, wanted 1% to 100%"),
        MessageCase(
            job: "constraints: { idle: yes }",
            """
            jobs.yaml:6:26: idle `yes` is not a boolean
            help: write `true` or `false`, without quotes; YAML 1.2 has no others
            """),
        MessageCase(
            job: "constraints: { idle: 'true' }",
            """
            jobs.yaml:6:26: idle `true` is not a boolean
            help: write `true` or `false`, without quotes; YAML 1.2 has no others
            """),
        MessageCase(
            job: "class: proccesing",
            "jobs.yaml:6:12: unknown class `proccesing`; did you mean `processing`?"),
        MessageCase(
            job: "class: light",
            """
            jobs.yaml:6:12: unknown class `light`
            help: write `app-refresh` or `processing`
            """),
        MessageCase(
            job: "on: [upload-complete]",
            "jobs.yaml:6:10: unknown event `upload-complete`; did you mean `upload-completed`?"),
        MessageCase(
            job: "on: [insight-generated]",
            """
            jobs.yaml:6:10: unknown event `insight-generated`
            help: write `source-changed`, `network-restored`, `boot`, `clock-changed` or \
            `upload-completed`
            """),
        MessageCase(
            job: "on: [source-change]",
            "jobs.yaml:6:10: unknown event `source-change`; did you mean `source-changed`?"),
        MessageCase(
            job: "", top: "  - { id: b, kind: bulk-uplaod, options: { any: 1 } }",
            "jobs.yaml:7:20: unknown kind `bulk-uplaod`; did you mean `bulk-upload`?"),
        MessageCase(
            job: "", top: "sources: [{ kind: spol, path: x, recursive: 1 }]",
            "jobs.yaml:7:19: unknown kind `spol`; did you mean `spool`?"),
        MessageCase(
            job: "", top: "  - { id: my job, kind: cleanup }",
            """
            jobs.yaml:7:11: job id `my job` is not allowed
            help: an id is 1 to 100 letters, digits, `.`, `-` or `_` and starts with a letter or \
            digit
            """),
        MessageCase(
            job: "schedule: { at: tomorrow }",
            """
            jobs.yaml:6:21: at `tomorrow` is not an instant
            help: write it as `2026-11-20T06:00:00Z` or `2026-11-20T07:00:00+01:00`
            """),
        MessageCase(
            job: "schedule: { every: 0s }",
            "jobs.yaml:6:24: every `0s` is out of range, wanted 1s to 366d"),
        MessageCase(
            job: "schedule: 1 hour",
            "jobs.yaml:6:15: schedule `1 hour` is not a span of time\nhelp: write it as `1h`"),
        MessageCase(
            job: "schedule: Every day",
            "jobs.yaml:6:15: schedule `Every day` is not a span of time\nhelp: write it as `1d`"),
        MessageCase(
            job: "schedule: every 1h",
            "jobs.yaml:6:15: schedule `every 1h` is not a span of time\nhelp: write it as `1h`"),
        MessageCase(
            job: "timeout: 1 h 30 m",
            "jobs.yaml:6:14: timeout `1 h 30 m` is not a span of time\n"
                + "help: write it as `1h30m`"),
        MessageCase(
            job: "timeout: soon",
            "jobs.yaml:6:14: timeout `soon` is not a span of time\n"
                + "help: write it as `30s`, `15m`, `6h`, `90d` or `1h30m`"),
        MessageCase(
            job: "schedule: { cron: '0 25 * * *' }",
            "jobs.yaml:6:23: cron `0 25 * * *` has `25` for the hour, wanted 0 to 23"),
        MessageCase(
            job: "schedule: { cron: '0 0' }",
            "jobs.yaml:6:23: cron `0 0` is no schedule, wanted five fields: minute, hour, "
                + "day of month, month and day of week"),
        MessageCase(
            job: "schedule: { cron: '@rebot' }",
            "jobs.yaml:6:23: cron `@rebot` is no schedule, wanted `@reboot`, `@hourly`, `@daily`, "
                + "`@midnight`, `@weekly`, `@monthly`, `@yearly` or `@annually`"),
        MessageCase(
            job: "schedule: { cron: '0 0 30 2 *' }",
            """
            jobs.yaml:6:23: cron `0 0 30 2 *` never fires
            help: no month that it names has a day that it names
            """),
        MessageCase(
            job: "schedule: { calendar: 'Mon 24:00' }",
            "jobs.yaml:6:27: calendar `Mon 24:00` has `24` for the hour, wanted 0 to 23"),
        MessageCase(
            job: "schedule: { calendar: '06:00:00.0005' }",
            "jobs.yaml:6:27: calendar `06:00:00.0005` has `00.0005` for the second, wanted whole "
                + "milliseconds, such as `10.5`"),
        MessageCase(
            job: "schedule: { calendar: '06:00 Europe/london', time_zone: UTC }",
            "jobs.yaml:6:27: unknown time zone `Europe/london`; did you mean `Europe/London`?"),
        MessageCase(
            job: "schedule: { calendar: '06:00 Mars' }",
            """
            jobs.yaml:6:27: unknown time zone `Mars`
            help: write it as `Europe/London` or `UTC`
            """),
        MessageCase(
            job: "schedule: { calendar: '0 6 * * *' }",
            "jobs.yaml:6:27: calendar `0 6 * * *` is no schedule, wanted weekdays, a date and a "
                + "time, such as `Mon..Fri *-*-* 06:00`"),
        MessageCase(
            job: "schedule: { calendar: '*-02-30' }",
            """
            jobs.yaml:6:27: calendar `*-02-30` never fires
            help: no date has the year, month, day and weekday that it names
            """),
        MessageCase(
            job: "schedule: { calendar: [daily] }",
            "jobs.yaml:6:27: `calendar` of `schedule` of job `a` is a list, wanted a calendar "
                + "expression"),
        MessageCase(
            job: "schedule: { cron: '@daily', randomized_delay: 25h }",
            "jobs.yaml:6:51: randomized_delay `25h` is out of range, wanted 0s to 1d"),
        MessageCase(
            job: "schedule: { cron: '0 0 * * *', time_zone: europe/london }",
            "jobs.yaml:6:47: unknown time zone `europe/london`; did you mean `Europe/London`?"),
        MessageCase(
            job: "schedule: { cron: '0 0 * * *', time_zone: Europe/Bérlin }",
            "jobs.yaml:6:47: unknown time zone `Europe/Bérlin`; did you mean `Europe/Berlin`?"),
        MessageCase(
            job: "schedule: { cron: '0 0 * * *', time_zone: Berlin }",
            "jobs.yaml:6:47: unknown time zone `Berlin`; did you mean `Europe/Berlin`?"),
        MessageCase(
            job: "schedule: daily at 2:15",
            """
            jobs.yaml:6:15: schedule `daily at 2:15` is no schedule
            help: write it as `02:15`
            """),
        MessageCase(
            job: "schedule: every Monday at 8:00",
            """
            jobs.yaml:6:15: schedule `every Monday at 8:00` is no schedule
            help: write it as `Monday 08:00`
            """),
        MessageCase(
            job: "schedule: nightly",
            "jobs.yaml:6:15: schedule `nightly` has `nightly` for the day of week, wanted `Mon` to "
                + "`Sun`, or one of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, "
                + "`quarterly`, `semiannually` and `yearly` alone"),
        MessageCase(
            job: "schedule: { cron: '0 0 * * *', time_zone: Mars/Olympus }",
            """
            jobs.yaml:6:47: unknown time zone `Mars/Olympus`
            help: write it as `Europe/London` or `UTC`
            """),
        MessageCase(
            job: "schedule: { cron: '0 0 * * *', time_zone: Broken/Zone }",
            """
            jobs.yaml:6:47: time zone `Broken/Zone`: ends early, wanted 15 bytes from byte 5 on
            help: the machine's tzdata is at fault
            """),
    ])
    func `a value that is not understood is reported with what is wanted`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test(arguments: [
        ("", "jobs.yaml:7:21: directory `` is not a path"),
        ("a\\tb", "jobs.yaml:7:21: directory `a<U+0009>b` is not a path"),
        (
            "~eve/x",
            """
            jobs.yaml:7:21: directory `~eve/x` starts with another user's home folder
            help: write the whole path; only `~/` is understood
            """
        ),
    ])
    func `a path that leads nowhere known is refused`(path: String, printed: String) {
        let text = JobFileSamples.file(job: "", top: "store: { directory: \"\(path)\" }")

        #expect(JobFileSamples.faults(text) == [printed])
    }
}
