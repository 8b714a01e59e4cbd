import CLinux
import ClarityHost
import ClarityScheduler
import HealthStore
import Platform
import Glibc

/// Passes an order to a program: on descriptor 3, as `OrderInput` of the worker reads it.
struct OrderHandover {
    static let descriptor: Int32 = 3

    /// A file without a name, which holds an order of any size; at its beginning.
    let file: Int32

    init(_ order: AttemptOrder) throws(CommandFailure) {
        let bytes = Array(order.lines.map { $0 + "\n" }.joined().utf8)
        file = clinux_memory_file()
        guard file >= 0, write(file, bytes, bytes.count) == bytes.count,
            lseek(file, 0, SEEK_SET) == 0
        else { throw CommandFailure(.internalFault, "cannot hand the order to the worker") }
    }

    /// Closes the file.
    func end() { close(file) }

    /// Gives the order to the program that replaces this one.
    func give() throws(CommandFailure) {
        guard dup2(file, OrderHandover.descriptor) >= 0,
            fcntl(OrderHandover.descriptor, F_SETFD, 0) == 0
        else { throw CommandFailure(.internalFault, "cannot hand the order to the worker") }
    }
}

extension JobKind {
    /// The kind of an order that is no job's: of a command that talks to the backend.
    static let backend = JobKind("backend")
}

extension Composition {
    /// Returns an order with all sections of a job file, for a command that the worker carries out.
    ///
    /// - Parameter change: changes what the order carries.
    func order(
        _ kind: JobKind, _ file: JobFile, changing change: (inout SectionValues) -> Void = { _ in }
    ) throws(CommandFailure) -> AttemptOrder {
        guard let job = JobID(kind.rawValue) else {
            throw CommandFailure(.internalFault, "no name for the order")
        }
        var sections = file.sections
        sections.set(
            StateOptions(
                directory: try ownData(file),
                limitsFolder: file.account == nil ? nil : limitsFolder(file)))
        change(&sections)
        return AttemptOrder(
            run: RunID(0), job: job, kind: kind, attempt: 1, fencingToken: 1,
            scheduledFor: clock.now, timeout: .zero, warning: .zero, memoryLimitBytes: 0,
            options: sections.options)
    }

    /// Becomes the worker, for what it does with the backend or the sources of a job file. Its
    /// results have the form that this command was asked for.
    func becomeWorker(
        _ words: [String], _ order: AttemptOrder, for file: JobFile
    ) throws(CommandFailure) -> Never {
        try exec(
            "clarity-jobs-worker", words + ["--output", console.form.rawValue], for: file,
            with: order)
    }
}
