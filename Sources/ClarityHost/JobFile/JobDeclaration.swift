import ClarityScheduler
import Platform

/// A job as written in the file.
struct JobDeclaration: Sendable {
    var id: Field<JobID>?
    var kind: Field<JobKind>?
    var jobClass = Job.Class.processing
    var schedule: Field<ScheduleDeclaration>?
    var events: Field<[Field<EventName>]>?
    var then: Field<ThenDeclaration>?
    var warning: Field<Duration>?
    var isEnabled = true
    var priority = Job.Priority.normal
    /// The options of the job's kind, as workers receive them.
    var options: [String: String] = [:]
    var common = CommonDeclaration()

    /// Returns the keys of a job; `options` is read separately, because its keys depend on the
    /// kind.
    private static func schema(_ catalogue: JobCatalogue) -> MappingSchema<JobDeclaration> {
        let kinds = catalogue.kinds.map { (name: $0.kind.rawValue, value: $0.kind) }
        let events = (EventName.ofTheEngine + catalogue.events.map(\.name)).map {
            (name: $0.rawValue, value: $0)
        }
        let options = Key<JobDeclaration>(
            "options", set: { _, _ in },
            ValueSchema<Void>(
                .variants(
                    by: "kind",
                    Dictionary(
                        catalogue.kinds.map {
                            ($0.kind.rawValue, OptionsDeclaration.schema($0.options).descriptions)
                        }, uniquingKeysWith: { first, _ in first }))
            ) { _, _, _ in nil }, "options of the kind")
        let own: [Key<JobDeclaration>] = [
            Key(
                "id", { swap(&$0.id, &$1) }, .jobID, isRequired: true,
                "name of the job, unique in the file"),
            Key(
                "kind", { swap(&$0.kind, &$1) }, .choice(kinds), isRequired: true,
                "what the job does"),
            Key(
                "class", set: { $0.jobClass = $1 }, .choice(of: Job.Class.self),
                default: "processing",
                "whether the job is short or long; decides the default `timeout`"),
            Key(
                "priority", set: { $0.priority = $1 }, .choice(of: Job.Priority.self),
                default: "normal",
                "which of the waiting runs starts first"),
            Key(
                "enabled", set: { $0.isEnabled = $1 }, .boolean, default: "true",
                "whether the job is planned at all"),
            Key(
                "schedule", { swap(&$0.schedule, &$1) }, .mapping(ScheduleDeclaration.schema),
                "when the job runs; without it only by event, after another job or by hand"),
            Key(
                "on", { swap(&$0.events, &$1) }, .list(of: .choice(events, noun: "event")),
                "events that start a run"),
            Key(
                "then", { swap(&$0.then, &$1) }, .then,
                "jobs that run after this one: a list after a success, or a mapping"),
            Key(
                "warning", { swap(&$0.warning, &$1) }, .duration(.zero ... .seconds(7 * 86_400)),
                "how long before its time limit an attempt is warned; without it a fifth of "
                    + "`timeout`, at most 10s"),
        ]
        return MappingSchema(
            JobDeclaration(), own + CommonDeclaration.schema.keys.map { Key($0) { $1(&$0.common) } } + [options]
        )
    }

    /// The keys of a job.
    static func keys(_ catalogue: JobCatalogue) -> [KeyDescription] {
        schema(catalogue).descriptions
    }

    /// Reads a job with the kinds and options of `catalogue`.
    static func listed(_ catalogue: JobCatalogue) -> ValueSchema<Listed> {
        let schema = schema(catalogue)
        return ValueSchema<Listed>(.mapping(schema.descriptions)) { node, path, decoding in
            let path = node["id"]?.text.map { .job($0) } ?? path
            guard var declaration = schema.decode(node, in: path, &decoding) else { return nil }
            // Without a known kind, the options cannot be checked.
            let kind = node["kind"]?.text
            if let kind = catalogue.kinds.first(where: { $0.kind.rawValue == kind }) {
                // An empty mapping gets the default values, and has no required option.
                let options =
                    node["options"] ?? YAMLNode(position: node.position, content: .mapping([]))
                let path = CodingPath.value(key: "options", of: path)
                let taken = decoding.optionsSchema(of: kind).decode(options, in: path, &decoding)
                declaration.options = taken?.values ?? [:]
            }
            return Listed(path: path, position: node.position, declaration: declaration)
        }
    }

    /// A job in the list, and the path that messages use for it.
    struct Listed: Sendable {
        var path: CodingPath
        var position: YAMLNode.Position
        var declaration: JobDeclaration
    }
}
