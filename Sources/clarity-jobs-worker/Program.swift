import CLinux
import Platform
@preconcurrency import Glibc
import ClarityScheduler
import Backend
import BackendContract

/// Does what the scheduler must not do itself: an attempt or its dry run, a login or logout, an
/// import, the state of the sources, or a check whether a URL answers.
@main enum Program {
    static let usage = """
        usage: clarity-jobs-worker attempt
               clarity-jobs-worker fork-server
               clarity-jobs-worker dry-run [--output FORM]
               clarity-jobs-worker auth login --email E --password stdin|ask
               clarity-jobs-worker auth logout --data keep|remove|ask [--output FORM]
               clarity-jobs-worker auth register --email E --password stdin|ask [--accept-terms]
                   [--first-name N] [--last-name N] [--name N]
               clarity-jobs-worker auth verify --email E [--code C]
               clarity-jobs-worker auth resend-code --email E
               clarity-jobs-worker auth reset-password --email E --password stdin|ask [--code C]
               clarity-jobs-worker erase [--samples IDS] [--yes] [--output FORM]
               clarity-jobs-worker backend [--output FORM]
               clarity-jobs-worker import [--report] [--change-time-zone] [--quiet] [--output FORM]
               clarity-jobs-worker sources [--output FORM]
               clarity-jobs-worker fhir keygen --kind es384|rs384 --out FILE
               clarity-jobs-worker fhir jwks --key FILE
               clarity-jobs-worker fhir verify [--since MONTH] [--settle] [--output FORM]
               clarity-jobs-worker fhir erase [--types LIST] [--since MONTH] [--yes] [--output FORM]
               clarity-jobs-worker notify-test [--target TARGET] [--output FORM]
               clarity-jobs-worker probe URL
               clarity-jobs-worker version
        where FORM is table, json or ndjson; all but `fork-server`, the keys' and the last two read an order
        on descriptor 3
        """

    /// Not asynchronous: Dispatch would keep such a `main` alive with a thread that accepts signals
    /// before they have a handler.
    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        // TLS libraries write the keys of each connection into the file that it names.
        unsetenv("SSLKEYLOGFILE")
        if arguments == ["fork-server"] {
            AttemptMode.waitForFork()
            // A fork has other variables.
            unsetenv("SSLKEYLOGFILE")
            arguments = ["attempt"]
        }
        // Whatever this process does, it holds keys, tokens or a password.
        umask(0o077)
        // libdispatch tells the journal of each thread whose priority it may not set, as in a
        // service with `Nice=` or a filter of system calls. The thread works all the same.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        if clinux_keep_memory_private() != 0 {
            complain("cannot close this process's memory to others")
        }
        if arguments == ["attempt"] { AttemptMode.prepare() }
        if arguments.first == "import" { StopSignal.prepare() }
        Task.detached { exit(await run(arguments).rawValue) }
        while true { pause() }
    }

    private static func run(_ arguments: [String]) async -> ExitStatus {
        switch arguments.first {
        case "attempt" where arguments.count == 1: await AttemptMode.run()
        case "dry-run": await DryRunMode.run(Array(arguments.dropFirst()))
        case "auth": await AuthMode.run(Array(arguments.dropFirst()))
        case "erase": await EraseMode.run(Array(arguments.dropFirst()))
        case "backend": await BackendMode.run(Array(arguments.dropFirst()))
        case "import": ImportMode.run(Array(arguments.dropFirst()))
        case "sources": SourcesMode.run(Array(arguments.dropFirst()))
        case "fhir": await FHIRMode.run(Array(arguments.dropFirst()))
        case "notify-test": await NotifyTestMode.run(Array(arguments.dropFirst()))
        case "version": version()
        case "probe" where arguments.count == 2: ProbeMode.run(arguments[1])
        default:
            usageError("expected one of these modes")
        }
    }

    /// Prints the libraries of this program, a line each.
    private static func version() -> ExitStatus {
        for library in LibraryVersion.loaded() { print(library.name, library.version) }
        return .done
    }

    static func usageError(_ message: String) -> ExitStatus {
        complain(message)
        printError(usage)
        return .usage
    }
}

/// Reads the order that every mode gets: on descriptor 3, up to its line `end`.
///
/// The standard input is the person's, who may type a password there.
enum OrderInput {
    static let descriptor: Int32 = 3

    /// Returns the order; `nil` if it is faulty, after writing why to the error output.
    ///
    /// Reads byte by byte: what follows the order is not its own.
    ///
    /// - Parameter isOfScheduler: whether a scheduler keeps the descriptor open behind the order.
    ///   Otherwise the end of the input may stand for the last line, and the descriptor is closed.
    static func read(isOfScheduler: Bool = false) -> AttemptOrder? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        var lines: [String] = []
        while lines.last != "end" {
            let count = Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count == 1, byte != UInt8(ascii: "\n") {
                bytes.append(byte)
                continue
            }
            guard count == 1 || !isOfScheduler else {
                complain("no whole order on descriptor \(descriptor)")
                return nil
            }
            if count == 1 || !bytes.isEmpty { lines.append(String(decoding: bytes, as: UTF8.self)) }
            bytes.removeAll(keepingCapacity: true)
            guard count == 1 else { break }
        }
        if !isOfScheduler { close(descriptor) }
        do {
            return try AttemptOrder(lines: lines)
        } catch {
            complain("the order on descriptor \(descriptor) is faulty: expected \(error.expected)")
            return nil
        }
    }
}

extension AttemptOrder {
    /// The sections of the job file that the order carries.
    var sections: SectionValues { SectionValues(options) }
}

/// Requests a URL once, for programs that may not link a library for that.
///
/// It prints the status of the answer, or in lower-case words why there was none. It exits with 0
/// for a status from 200 to 299, with 1 for another status, and with 69 without an answer.
enum ProbeMode {
    static func run(_ url: String) -> ExitStatus {
        do throws(TransportError) {
            let status = try URLProbe(version: programVersion).status(of: url)
            print(status)
            return (200...299).contains(status) ? .done : .failed
        } catch {
            return status(of: error)
        }
    }

    private static func status(of error: TransportError) -> ExitStatus {
        let words: String
        switch error {
        case .refused:
            return Program.usageError("expected a url of http or https without user and password")
        case .library(let code):
            complain("libcurl failed with \(code)")
            return .internalFault
        case .offline: words = "no route"
        case .nameNotResolved: words = "name not resolved"
        case .couldNotConnect: words = "could not connect"
        case .proxyRefused: words = "the proxy makes no way"
        case .connectTimeout, .stalled, .timeout, .cancelled: words = "no answer in time"
        case .reset, .truncated: words = "connection lost"
        case .tls, .tlsVersion, .certificateNotTrusted, .certificateOutOfDate,
            .certificateForOtherHost, .pinMismatch, .authoritiesUnreadable:
            words = "no trusted tls connection"
        case .malformed, .badEncoding, .tooLarge, .headTooLarge, .limited,
            .limitsUnusable:
            words = "no http"
        }
        print(words)
        return .unreachable
    }
}
