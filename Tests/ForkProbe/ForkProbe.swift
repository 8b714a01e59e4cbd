import Backend
import BackendContract
import CLinux
import COpenSSL
@preconcurrency import Glibc

/// `fork-probe`: a fork server on descriptor 3. Each fork says on descriptor 4 what it finds, a
/// line for each fact, and then does what its variable `PROBE` says: `end`, `crash`, `wait` until
/// the other end of descriptor 3 is closed, or `greet` the server of its variable `URL`.
@main
enum ForkProbe {
    static func main() throws {
        try CurlTransport.prepareForForks()
        // A generator without a state would be seeded by each fork in any case.
        var drawn: UInt8 = 0
        guard RAND_bytes(&drawn, 1) == 1, RAND_priv_bytes(&drawn, 1) == 1 else { exit(1) }
        guard clinux_fork_serve(3) == 0 else { exit(1) }
        let out = fdopen(4, "w")
        func say(_ name: String, _ value: some Any) { fputs("\(name) \(value)\n", out) }
        say("parent", getppid())
        say("group", getpgrp() == getpid())
        say("thread", owner() == getpid())
        say("descriptors", descriptors())
        var blocked = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &blocked)
        say("blocked", (1...64).filter { sigismember(&blocked, $0) == 1 })
        var index = 0
        while let variable = environ[index] {
            say("variable", String(cString: variable))
            index += 1
        }
        if let sought = getenv("SOUGHT") {
            say("found", find(reversed: String(cString: sought)))
        }
        fflush(out)
        switch getenv("PROBE").map({ String(cString: $0) }) {
        case "crash": abort()
        case "wait":
            var byte: UInt8 = 0
            while read(3, &byte, 1) > 0 {}
        case "greet":
            do throws(TransportError) {
                _ = try URLProbe(version: "0").status(of: String(cString: getenv("URL")))
                exit(1)
            } catch {
                exit(error == .tls ? 0 : 1)
            }
        default: break
        }
        exit(0)
    }

    /// Returns for which thread the C library takes this one.
    private static func owner() -> Int32 {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        var mutex = pthread_mutex_t()
        pthread_mutex_init(&mutex, &attributes)
        pthread_mutex_lock(&mutex)
        return mutex.__data.__owner
    }

    private static func descriptors() -> [Int32] {
        (0..<100).filter { fcntl($0, F_GETFD) >= 0 }
    }

    /// Returns how often the memory of this process has a text, which is given the wrong way round:
    /// otherwise this would find what it looks for with.
    private static func find(reversed text: String) -> Int {
        let memory = open("/proc/self/mem", O_RDONLY)
        guard memory >= 0, let maps = fopen("/proc/self/maps", "r") else { return -1 }
        let size = 1 << 20
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        var found = 0
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        while getline(&line, &room, maps) > 0, let line {
            let words = String(cString: line).split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, words[1].hasPrefix("rw") else { continue }
            var at = ends[0]
            while at < ends[1] {
                let part = min(size, Int(ends[1] - at))
                let count = pread(memory, buffer, part, Int(at))
                guard count > 0 else { break }
                // The buffer is memory too.
                let place = UInt(bitPattern: buffer)
                if !(place - UInt(size)..<place + UInt(size) ~= at) {
                    found += self.count(text, UnsafeRawBufferPointer(start: buffer, count: count))
                }
                at += UInt(count)
            }
        }
        return found
    }

    private static func count(_ reversed: String, _ bytes: UnsafeRawBufferPointer) -> Int {
        let wanted = Array(reversed.utf8)
        guard let base = bytes.baseAddress, let first = wanted.last else { return 0 }
        var (found, from) = (0, 0)
        while bytes.count - from >= wanted.count,
            let start = memchr(base + from, Int32(first), bytes.count - from)
        {
            let at = UnsafeRawPointer(start) - base
            from = at + 1
            guard bytes.count - at >= wanted.count else { break }
            let isFound = wanted.indices.allSatisfy {
                bytes[at + $0] == wanted[wanted.count - 1 - $0]
            }
            if isFound { found += 1 }
        }
        return found
    }
}
