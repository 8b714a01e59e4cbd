import HealthStore
import JSON
@preconcurrency import Glibc
import Database

/// Writes records into a new SQLite file: a table for each type, a view of all records, a view of the
/// days of each type with numbers, and those of `RecordViews`.
///
/// A value is a number where it can be one. Times are texts that SQLite's date functions read.
struct RecordDatabase: RecordTarget {
    private let path: String
    private let draft: RecordDraft
    private let connection: Connection
    /// The names of the tables, the present one last.
    private var tables: [String] = []
    private var times = TimeWriter()

    init(_ path: String) throws(RecordExport.Fault) {
        self.path = path
        // Made before SQLite opens it, so that nobody else can read it at any time.
        draft = try RecordDraft(of: path)
        do throws(DatabaseError) {
            connection = try FileConnection(path: draft.path, access: .readWrite)
            // It gets its name when it is whole: a crash leaves nothing that looks like it.
            try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        } catch {
            throw .database(reason: error.message, path: draft.path)
        }
    }

    mutating func begin(_ type: ArchivedType) throws(RecordExport.Fault) {
        var name = try isTaken(type.shortName) ? type.name : type.shortName
        while try isTaken(name) { name += "_" }
        tables.append(name)
        try execute(
            """
            CREATE TABLE \(quoted(name)) (
                id INTEGER PRIMARY KEY, type TEXT NOT NULL, source TEXT, source_version TEXT,
                device TEXT, unit TEXT, created TEXT, start TEXT NOT NULL, "end" TEXT NOT NULL,
                value NUMERIC, metadata TEXT
            )
            """)
    }

    mutating func append(
        _ segment: Segment, _ type: ArchivedType, _ range: Range<Int64>
    ) throws(RecordExport.Fault) -> Int64 {
        guard let table = tables.last else { return 0 }
        let sql = """
            INSERT INTO \(quoted(table)) (type, source, source_version, device, unit, created,
                start, "end", value, metadata)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """
        var origins: [UInt32: [Value]] = [:]
        var metadata: [UInt32: Value] = [:]
        var count: Int64 = 0
        do {
            try connection.transaction {
                for record in segment.records where range.contains(record.start) {
                    count += 1
                    var values = origins[record.origin] ?? []
                    if values.isEmpty {
                        let origin = RecordOrigin(segment.texts[record.origin])
                        values = [
                            .text(origin.type ?? type.name), .text(origin.source),
                            .text(origin.version), .text(origin.device), .text(origin.unit),
                        ]
                        origins[record.origin] = values
                    }
                    values.append(
                        .text(record.created.map { times.text($0, record.offsets.created) }))
                    values.append(.text(times.text(record.start, record.offsets.start)))
                    values.append(.text(times.text(record.end, record.offsets.end)))
                    values.append(
                        record.value.number.map { .real($0) }
                            ?? .text(record.valueText(in: segment)))
                    if let index = record.metadata, metadata[index] == nil {
                        metadata[index] = .text(RecordMetadata(segment.texts[index]).json.line)
                    }
                    values.append(record.metadata.flatMap { metadata[$0] } ?? .null)
                    try connection.forEach(sql, values) { _ in }
                }
            }
        } catch let error as DatabaseError {
            throw .database(reason: error.message, path: path)
        } catch {
            throw .system(path: path, code: EIO)
        }
        return count
    }

    mutating func end(
        _ type: ArchivedType
    ) throws(RecordExport.Fault) -> (name: String, files: Int) {
        guard let name = tables.last else { return (type.name, 1) }
        try execute(
            """
            CREATE INDEX \(quoted("\(name) start")) ON \(quoted(name)) (start);
            CREATE VIEW \(quoted("\(name) by day")) AS
                SELECT substr(start, 1, 10) AS day, count(*) AS records, min(value) AS least,
                    avg(value) AS mean, max(value) AS most, sum(value) AS sum, unit
                FROM \(quoted(name)) WHERE typeof(value) IN ('integer', 'real')
                GROUP BY day, unit;
            \(RecordViews.script(of: type, table: quoted(name)))
            """)
        return (name, 1)
    }

    mutating func finish() throws(RecordExport.Fault) {
        let parts = tables.map { "SELECT * FROM \(quoted($0))" }
        if !parts.isEmpty {
            // A name of its own that no type has.
            try execute("CREATE VIEW \"all records\" AS \(parts.joined(separator: " UNION ALL "))")
        }
        try draft.finish()
    }

    /// Whether a table or a view has a name. SQLite takes capitals and small letters for the same.
    private func isTaken(_ name: String) throws(RecordExport.Fault) -> Bool {
        do throws(DatabaseError) {
            return try connection.first(
                "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE", .text(name)
            ) { _ in true } ?? false
        } catch {
            throw .database(reason: error.message, path: path)
        }
    }

    private func execute(_ script: String) throws(RecordExport.Fault) {
        do throws(DatabaseError) {
            try connection.execute(script)
        } catch {
            throw .database(reason: error.message, path: path)
        }
    }

    private func quoted(_ name: String) -> String { ServerSchema.quoted(name) }
}

/// The views of a database for records that have more than a value: what stands in their metadata, as
/// columns and rows.
enum RecordViews {
    /// Returns the statements that make the views of a type whose table is `table`, a quoted name.
    static func script(of type: ArchivedType, table: String) -> String {
        switch type.name {
        case "Workout": workouts(table)
        case "ActivitySummary": activitySummaries(table)
        case "HKDataTypeIdentifierHeartbeatSeries": heartbeats(table)
        case "WorkoutRoutePoint": routePoints(table)
        case KeptFile.electrocardiogram: electrocardiograms(table)
        case KeptFile.clinicalResource: clinicalResources(table)
        case KeptFile.clinicalDocument: clinicalDocuments(table)
        default: ""
        }
    }

    private static func workouts(_ table: String) -> String {
        """
        CREATE VIEW workouts AS SELECT id,
            replace(value, 'HKWorkoutActivityType', '') AS activity, start, "end",
            CAST(metadata ->> 'duration' AS REAL) AS duration,
            metadata ->> 'durationUnit' AS duration_unit,
            CAST(metadata ->> 'totalDistance' AS REAL) AS distance,
            metadata ->> 'totalDistanceUnit' AS distance_unit,
            CAST(metadata ->> 'totalEnergyBurned' AS REAL) AS energy,
            metadata ->> 'totalEnergyBurnedUnit' AS energy_unit, source, metadata
            FROM \(table);
        CREATE VIEW workout_events AS SELECT w.id AS workout_id,
            replace(e.value ->> 'type', 'HKWorkoutEventType', '') AS event,
            e.value ->> 'date' AS at, CAST(e.value ->> 'duration' AS REAL) AS duration,
            e.value ->> 'durationUnit' AS duration_unit
            FROM \(table) w, json_each(w.metadata ->> 'WorkoutEvent') e;
        CREATE VIEW workout_statistics AS SELECT w.id AS workout_id,
            replace(s.value ->> 'type', 'HKQuantityTypeIdentifier', '') AS type,
            s.value ->> 'startDate' AS start, s.value ->> 'endDate' AS "end",
            CAST(s.value ->> 'minimum' AS REAL) AS least,
            CAST(s.value ->> 'average' AS REAL) AS mean,
            CAST(s.value ->> 'maximum' AS REAL) AS most,
            CAST(s.value ->> 'sum' AS REAL) AS sum, s.value ->> 'unit' AS unit
            FROM \(table) w, json_each(w.metadata ->> 'WorkoutStatistics') s;
        CREATE VIEW workout_routes AS SELECT w.id AS workout_id,
            r.value ->> 'startDate' AS start, r.value ->> 'endDate' AS "end",
            r.value ->> '$.FileReference[0].path' AS path
            FROM \(table) w, json_each(w.metadata ->> 'WorkoutRoute') r;
        """
    }

    /// The path of a point's file says to which workout it belongs, by the view `workout_routes`.
    private static func routePoints(_ table: String) -> String {
        func number(_ name: String, _ column: String) -> String {
            "CAST(metadata ->> '\(name)' AS REAL) AS \(column)"
        }
        let columns = [
            number("lat", "latitude"), number("lon", "longitude"), number("ele", "elevation"),
            number("speed", "speed"), number("course", "course"),
            number("hAcc", "horizontal_accuracy"), number("vAcc", "vertical_accuracy"),
        ]
        return """
            CREATE VIEW workout_points AS SELECT source AS path, start AS at,
                \(columns.joined(separator: ", ")) FROM \(table);
            """
    }

    private static func activitySummaries(_ table: String) -> String {
        func number(_ name: String, _ column: String) -> String {
            "CAST(metadata ->> '\(name)' AS REAL) AS \(column)"
        }
        let columns = [
            number("activeEnergyBurned", "active_energy"),
            number("activeEnergyBurnedGoal", "active_energy_goal"),
            "metadata ->> 'activeEnergyBurnedUnit' AS energy_unit",
            number("appleMoveTime", "move_minutes"),
            number("appleMoveTimeGoal", "move_minutes_goal"),
            number("appleExerciseTime", "exercise_minutes"),
            number("appleExerciseTimeGoal", "exercise_minutes_goal"),
            number("appleStandHours", "stand_hours"),
            number("appleStandHoursGoal", "stand_hours_goal"),
        ]
        return """
            CREATE VIEW activity_summaries AS SELECT metadata ->> 'dateComponents' AS day,
                \(columns.joined(separator: ", ")) FROM \(table);
            """
    }

    private static func electrocardiograms(_ table: String) -> String {
        """
        CREATE VIEW electrocardiograms AS SELECT id, start, "end", value AS classification,
            metadata ->> 'Symptoms' AS symptoms, device, source_version AS software_version,
            metadata ->> 'Lead' AS lead, metadata ->> '\(KeptFile.rate)' AS sample_rate, unit,
            metadata FROM \(table);
        CREATE VIEW electrocardiogram_voltages AS SELECT e.id AS electrocardiogram_id,
            v.key AS number, v.value AS voltage, e.unit
            FROM \(table) e, json_each(
                '[' || replace(e.metadata ->> '\(KeptFile.curve)', ' ', ',') || ']') v;
        """
    }

    private static func clinicalResources(_ table: String) -> String {
        """
        CREATE VIEW clinical_resources AS SELECT id, source AS path, start AS received,
            value AS resource_type, metadata ->> '\(KeptFile.content)' AS content FROM \(table);
        """
    }

    private static func clinicalDocuments(_ table: String) -> String {
        """
        CREATE VIEW clinical_documents AS SELECT id, source AS path, start AS exported,
            metadata ->> '\(KeptFile.content)' AS content FROM \(table);
        """
    }

    private static func heartbeats(_ table: String) -> String {
        """
        CREATE VIEW heartbeats AS SELECT h.id AS series_id, h.start,
            b.value ->> 0 AS seconds, b.value ->> 1 AS bpm
            FROM \(table) h, json_each(h.metadata ->> 'beats') b;
        """
    }
}
