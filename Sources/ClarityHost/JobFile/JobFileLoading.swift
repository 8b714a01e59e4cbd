public import ClarityScheduler
@preconcurrency import Glibc

extension JobFileReader {
    /// Reads the file at a path, which may be a pipe, up to the maximum size of a job file.
    ///
    /// - Parameter now: the current time; without it, the reader looks for no warnings.
    /// - Throws: `JobFileFaults` if the file cannot be read or has a fault.
    public func read(
        fileAt path: String, warningAt now: Instant? = nil
    ) throws(JobFileFaults) -> JobFile {
        let location = path.hasPrefix("/") ? path : join(workingDirectory, path[...])
        let descriptor = open(location, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw trouble(errno, path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw trouble(errno, path)
            }
            if count == 0 { break }
            bytes += buffer[..<count]
            guard bytes.count <= YAMLParser.largestFileBytes else {
                throw JobFileFaults(path: path, faults: [YAMLParser.tooLarge])
            }
        }
        return try read(bytes, path: path, warningAt: now)
    }

    private func trouble(_ code: Int32, _ path: String) -> JobFileFaults {
        let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        let message = "cannot read it: \(reason.prefix(1).lowercased() + reason.dropFirst())"
        return JobFileFaults(
            path: path, faults: [JobFileFault(line: 0, column: 0, message: message)])
    }
}
