import ClarityHost
import Platform
@preconcurrency import Glibc

extension MetricsCollector {
    /// Writes the `metrics_textfile` of the job file, if it names one.
    public func writeTextfile() throws(Fault) {
        guard let path = try jobFile().metricsTextfile else { return }
        try MetricsFile.write(PrometheusText.text(try report().families), to: path)
    }
}

/// The file that the node exporter's textfile collector reads.
public enum MetricsFile {
    /// Replaces the file by one that everybody may read.
    ///
    /// The collector never sees half of it: the text is written under another name first, which
    /// does not end in `.prom`. A crash may lose the file, which the next decision writes again.
    ///
    /// - Throws: `MetricsCollector.Fault` with the system's reason.
    public static func write(_ text: String, to path: String) throws(MetricsCollector.Fault) {
        let draft = "\(path).\(getpid())"
        // One that a killed process has left. Others may write to the folder: nothing that they put
        // there is opened.
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw fault(path) }
        var bytes = Array(text.utf8)[...]
        var isWritten = fchmod(file, 0o644) == 0
        while isWritten, !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) }
            isWritten = count > 0 || errno == EINTR
        }
        guard isWritten, close(file) == 0, rename(draft, path) == 0 else {
            let fault = fault(path)
            unlink(draft)
            throw fault
        }
    }

    private static func fault(_ path: String) -> MetricsCollector.Fault {
        MetricsCollector.Fault(
            reason: "cannot write `\(path)`: \(SystemError().text)")
    }
}
