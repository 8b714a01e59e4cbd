import ClarityScheduler

/// A whole job file as it stands.
struct FileDraft: Hashable, Sendable {
    var version: Field<Int>?
    var store: Field<StoreDraft>?
    var defaults: Field<DefaultsDraft>?
    var jobs: Field<[Field<JobDraft.Listed>]>?
    /// The sections of the catalogue, flattened.
    var settings: [String: String] = [:]

    /// The shape of job files with the kinds and sections of `catalogue`.
    static func shape(_ catalogue: JobCatalogue) -> Shape<FileDraft> {
        var empty = FileDraft()
        for section in catalogue.sections {
            guard case .mapping(let options) = section.form else { continue }
            for option in options {
                empty.settings["\(section.key).\(option.key)"] = option.standard
            }
        }
        let sections = catalogue.sections.map { key(for: $0) }
        let own: [Key<FileDraft>] = [
            Key("version", \.version, .version, isRequired: true, "the form of the file: 1"),
            Key("store", \.store, .mapping(StoreDraft.shape), "where the history is kept"),
            Key(
                "defaults", \.defaults, .mapping(DefaultsDraft.shape),
                "what holds for every job that does not say otherwise"),
            Key(
                "jobs", \.jobs, .list(of: JobDraft.form(catalogue)), isRequired: true,
                "the jobs, in the order in which they are listed and preferred"),
        ]
        return Shape(empty, own + sections)
    }

    private static func key(for section: SectionDeclaration) -> Key<FileDraft> {
        let form = Form<[String: String]>.section(section)
        return Key(
            description: KeyDescription(
                name: section.key, form: form.description, isRequired: section.isRequired,
                summary: "settings of the jobs' work"),
            store: { node, place, draft, decoding in
                guard let values = form.decode(node, place, &decoding) else { return }
                draft.settings.merge(values) { _, new in new }
            })
    }
}

/// `store:` as it stands in the file.
struct StoreDraft: Hashable, Sendable {
    var directory: Field<String>?

    static let shape = Shape(
        StoreDraft(),
        [Key("directory", \.directory, .path, "the folder of the history and the health data")])
}

/// `defaults:` as it stands in the file.
struct DefaultsDraft: Hashable, Sendable {
    var maxParallel: Field<Int>?
    var timeZone: Field<Zone>?
    var common = CommonDraft()

    static let shape = Shape(
        DefaultsDraft(),
        [
            Key(
                "max_parallel", \.maxParallel, .integer(1...64),
                "the most attempts that run at the same time"),
            Key(
                "time_zone", \.timeZone, .timeZone,
                "the zone of cron and calendar schedules that name none; else the machine's"),
        ] + CommonDraft.shape.keys.map { $0.within(\.common) })
}

extension Form where Value == Int {
    /// The version of the file's form.
    static var version: Form {
        Form(.integer(1...1)) { node, place, decoding in
            guard case .scalar("1", isPlain: true) = node.content else {
                decoding.report(
                    node.position, "version \(shown(node.text ?? node.noun)) is not supported",
                    help: "this program reads `version: 1`")
                return nil
            }
            return 1
        }
    }
}
