import ClarityJobs

/// The names of the metrics that can be read.
///
/// This type exists so that the commands, which know nothing of health data, need not import it.
enum ReadableNames {
    static var all: [String] { MetricSelection.names }
}
