import ClarityJobs

/// What people call the metrics that can be read; here, for the commands know nothing of health data.
enum ReadableNames {
    static var all: [String] { MetricSelection.names }
}
