import Reports

// The results of the commands on jobs.

extension ResultSchema {
    static var dryRun: [Field] {
        [
            .init("job", .text, "id of the job"),
            .init("shown", .list(.text), "each request or message that would be sent, in words"),
            .init("requests", .integer, "number of requests to the backend"),
            .init("counts", .map(.integer), "what the run would count"),
            .init("notes", .list(.text), "remarks of the worker"),
        ]
    }

}
