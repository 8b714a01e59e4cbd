import HealthStore

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

    private static func heartbeats(_ table: String) -> String {
        """
        CREATE VIEW heartbeats AS SELECT h.id AS series_id, h.start,
            b.value ->> 0 AS seconds, b.value ->> 1 AS bpm
            FROM \(table) h, json_each(h.metadata ->> 'beats') b;
        """
    }
}
