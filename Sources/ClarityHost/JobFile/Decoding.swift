import ClarityScheduler

/// What is known around a job file while it is read.
struct Surroundings: Sendable {
    /// The home folder, for `~/`.
    var home: String
    /// The job file's folder, from which relative paths count.
    var folder: String
    var zones: any ZoneSource
    /// The zone of cron and calendar schedules that name none.
    var localZone: String
    /// What tells this machine from others.
    var host: String
}

/// A value that a job file gives to a key.
///
/// `value` is `nil` where the key is there but its value is at fault, which has then been reported:
/// so nothing that builds on it reports it again as missing.
struct Field<Value: Sendable>: Sendable {
    var position: YAMLNode.Position
    var value: Value?
}

/// Where in the file a value is, in words: `timeout` of job `a`.
struct Place: Sendable {
    /// The key, or for an entry of a list that of the list.
    var key: String
    /// The whole, for messages on its form.
    var text: String

    /// The value of `key` in what `owner` names; `nil` for the file's top.
    init(key: String, of owner: String?) {
        self.key = key
        text = shown(key) + (owner.map { " of \($0)" } ?? "")
    }

    /// Entry `number`, from 1, of the list at `place`.
    init(entry number: Int, of place: Place) {
        key = place.key
        text = "entry \(number) of \(place.text)"
    }
}

/// One reading of a job file: its surroundings and the faults found so far.
struct Decoding: Sendable {
    let surroundings: Surroundings
    private(set) var faults: [JobFileFault] = []

    /// Beyond so many faults nobody reads on, and looking for near names would only take time.
    private static let mostFaultsWithSuggestions = 200

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    /// Records a fault.
    mutating func report(
        _ position: YAMLNode.Position, _ message: String, help: String? = nil
    ) {
        faults.append(JobFileFault(position, message, help: help))
    }

    /// Records faults that were found elsewhere.
    mutating func report(_ found: [JobFileFault]) { faults += found }

    /// Records that a name is not among the `known` ones, with the nearest of them.
    mutating func reportUnknown(
        _ what: String, _ name: String, in place: String? = nil, at position: YAMLNode.Position,
        known: [String], help: String
    ) {
        let suggestion =
            faults.count < Self.mostFaultsWithSuggestions ? nearest(to: name, among: known) : nil
        let message = "unknown \(what) \(shown(name))" + (place.map { " in \($0)" } ?? "")
        if let suggestion {
            report(position, "\(message); did you mean \(shown(suggestion))?")
        } else {
            report(position, message, help: help)
        }
    }
}
