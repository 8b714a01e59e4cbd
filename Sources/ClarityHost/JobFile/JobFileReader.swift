public import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// Reads job files: parses YAML to a tree with positions, decodes the tree to declarations, and builds
/// jobs from the declarations.
///
/// Reports every fault of a file at once. It stops at the first fault in three cases, where the
/// rest would be guesswork: text that is not YAML, text beyond the bounds of `YAMLParser`, and an
/// unknown `version`.
public struct JobFileReader: Sendable {
    private let catalogue: JobCatalogue
    /// The environment of every file; the folder is the working folder.
    private let environment: DecodingContext
    private let kinds: [JobKind: JobKindDeclaration]
    /// Whether to read the job file alone, as if a folder of accounts had no files.
    public var skipsAccountFiles = false
    /// Whether a job or an account with a fault of its own is held (`JobFile.held`), and the rest of
    /// the file read; else any fault makes the whole file faulty.
    public var holdsFaulty = false
    /// The user who is to run programs of the files: nobody else but root may write them
    /// (`WriterCheck`). Without it, everybody may.
    public var runner: UInt32?
    private var writers: WriterCheck? { runner.map { WriterCheck(user: $0) } }

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - catalogue: the kinds and sections that a file may contain; no section may be called
    ///     `version`, `store`, `defaults`, `conditions`, `checks`, `metrics_textfile` or `jobs`.
    ///   - zones: the source of time zones.
    ///   - home: the home folder, for paths that start with `~/`.
    ///   - workingDirectory: the base of a relative path of a job file, and thus of the relative
    ///     paths in it.
    ///   - localZone: the zone of schedules and windows without a zone in the file.
    ///   - host: the identity of this machine, as from `HostIdentity`. It determines each
    ///     `randomized_delay`, and is used for nothing else.
    public init(
        catalogue: JobCatalogue, zones: any ZoneSource, home: String, workingDirectory: String,
        localZone: String, host: String
    ) {
        self.catalogue = catalogue
        environment = DecodingContext(
            home: home, folder: workingDirectory, zones: zones, localZone: localZone, host: host)
        kinds = Dictionary(
            catalogue.kinds.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Creates a reader with the time zones and the identity of this machine, and the home folder
    /// of this user.
    public init(
        catalogue: JobCatalogue, environment: [String: String], workingDirectory: String
    ) {
        self.init(
            catalogue: catalogue, zones: SystemZones(environment: environment),
            home: HomeFolder.path(environment), workingDirectory: workingDirectory,
            localZone: LocalZone.identifier(environment: environment), host: HostIdentity.text())
    }

    /// Returns the keys of a job file, for references: those that `read` decodes.
    package static func keys(of catalogue: JobCatalogue) -> [KeyDescription] {
        FileDeclaration.schema(catalogue).descriptions
    }

    /// Reads a file's bytes; messages name `path`, and its folder is the base of relative paths.
    ///
    /// - Parameters:
    ///   - now: the current time; without it, the reader looks for no warnings.
    ///   - memory: the accounts as they were read before, and then as they are now.
    /// - Throws: `JobFileFaults` if the file has a fault.
    public func read(
        _ bytes: [UInt8], path: String, warningAt now: Instant? = nil,
        remembering memory: AccountMemory? = nil
    ) throws(JobFileFaults) -> JobFile {
        memory?.begin(bytes)
        let knowsAccounts = memory?.isEmpty == false
        do throws(JobFileFaults) {
            return try readOnce(bytes, path: path, warningAt: now, remembering: memory)
        } catch {
            memory?.forget()
            // A remembered account has no place in a file to which a report could point.
            guard knowsAccounts else { throw error }
            return try readOnce(bytes, path: path, warningAt: now, remembering: nil)
        }
    }

    private func readOnce(
        _ bytes: [UInt8], path: String, warningAt now: Instant?, remembering memory: AccountMemory?
    ) throws(JobFileFaults) -> JobFile {
        let document: YAMLParser.Document
        do throws(JobFileFault) {
            document = try YAMLParser.parse(bytes)
        } catch {
            throw JobFileFaults(path: path, faults: [error])
        }
        var context = environment
        context.folder = folder(of: path)
        context.now = now
        var decoding = Decoding(context)
        let root = document.root
        if let version = root["version"],
            ValueSchema<Int>.version.decode(version, .value(key: "version", of: .file), &decoding)
                == nil
        {
            throw JobFileFaults(path: path, faults: decoding.faults.placed(in: root))
        }
        decoding.report(document.duplicateKeys)
        var file = file(root, memory, &decoding)
        if now != nil, decoding.faults.isEmpty { decoding.warnOfLocalZone(at: root.position) }
        let warnings = decoding.warnings.inOrder.placed(in: root)
        file?.warnings = warnings
        let faults = decoding.faults.placed(in: root)
        if let file, faults.isEmpty { return file }
        if holdsFaulty, faults.allSatisfy({ !decoding.unreadFiles.contains($0.file ?? "") }),
            let held = file?.holding(faults, of: root, path)
        {
            // It would be remembered as if it had no fault.
            memory?.forget()
            return held
        }
        throw JobFileFaults(path: path, faults: faults, warnings: warnings)
    }

    /// Reports each job whose kind has its server's address from a section that `root` lacks.
    private func reportMissingSections(
        of jobs: [JobDeclaration.Listed], _ root: YAMLNode, _ decoding: inout Decoding
    ) {
        for job in jobs {
            guard let field = job.declaration.kind, let kind = field.value,
                let address = kinds[kind]?.addressKey?.split(separator: "."), address.count == 2,
                root[String(address[0])] == nil
            else { continue }
            decoding.report(
                field.position,
                "\(job.path.text) is of the kind \(shown(kind.rawValue)), which needs a server, and "
                    + "the file has no `\(address[0])`",
                help: "add `\(address[0]): { \(address[1]): https://... }`, or remove the job")
        }
    }

    /// Returns the contents of the tree; `nil` only if it is not a mapping, which is reported.
    private func file(
        _ root: YAMLNode, _ memory: AccountMemory?, _ decoding: inout Decoding
    ) -> JobFile? {
        let schema = FileDeclaration.schema(catalogue)
        guard let declaration = schema.decode(root, in: .file, &decoding) else { return nil }
        // Loops that share a server agree on each job's delay.
        if let server = declaration.store.server { decoding.context.host = "\(server)" }
        let defaults = declaration.defaults?.value ?? DefaultsDeclaration()
        if let retry = defaults.common.retry?.value { retry.check(given: retry, &decoding) }
        let checks = KnownChecks(declaration)
        checks.report(
            unknownIn: defaults.common.constraints,
            of: .value(key: "constraints", of: .value(key: "defaults", of: .file)), &decoding)
        KnownGroups.check(declaration, &decoding)
        let listed = (declaration.jobs?.value ?? []).compactMap(\.value)
        JobGraph(listed).check(&decoding)
        reportMissingSections(of: listed, root, &decoding)
        let implied = ImpliedJobs(catalogue, declaration.sections)
        implied.report(takenIn: listed, &decoding)
        var accounts: DeclaredAccounts.Reading?
        var sections = declaration.sections
        var assembly = AccountAssembly(root, catalogue, declaration, defaults, checks, kinds)
        if let field = declaration.accounts {
            sections = assembly.sharedSections
            accounts = declarations(field, &assembly, memory, &decoding)
        } else {
            sections.noteSources(catalogue)
        }
        let options = sections.options
        let jobs = JobAssembly(
            defaults: defaults, sections: options, checks: checks,
            groups: KnownGroups(declaration), kinds: kinds,
            isForAccounts: accounts != nil)
        let assembled = listed.map { (entry: $0, job: jobs.job($0, &decoding)) }
        if let now = decoding.context.now {
            JobWarnings(defaults: defaults.common, kinds: kinds, now: now)
                .check(assembled, &decoding)
        }
        let disabled = listed.filter { !$0.declaration.isEnabled }.compactMap {
            $0.declaration.id?.value
        }
        var file = JobFile(
            jobs: implied.added(to: assembled.compactMap(\.job), options: options),
            disabled: Set(disabled), sections: sections,
            stateDirectory: declaration.store.directory,
            maxParallel: defaults.maxParallel,
            retention: declaration.store.retention,
            metricsTextfile: declaration.metricsTextfile, conditions: declaration.conditions,
            checks: (declaration.checks?.value ?? []).compactMap {
                $0.field.value?.declaration($0.key)
            })
        file.implied = Set(file.jobs.map(\.id)).subtracting(assembled.compactMap(\.job?.id))
        file.server = declaration.store.server
        file.labels = Set(declaration.labels.compactMap(\.value))
        file.maxParallelTotal = defaults.maxParallelTotal
        file.accounts = accounts?.all
        file.lineage = accounts?.lineage ?? file.lineage
        if case .folder(let folder)? = declaration.accounts?.value { file.accountsFolder = folder }
        for section in catalogue.sections {
            file.secretVariables.formUnion(section.secretVariables(in: declaration.sections))
        }
        if let accounts { file.secretVariables.formUnion(accounts.names.secretVariables) }
        for job in file.jobs {
            file.secretVariables.formUnion(kinds[job.kind]?.secretNames(in: job.options) ?? [])
        }
        file.secretVariables.formUnion(decoding.suspects)
        file.host = decoding.context.host
        return file
    }

    /// Returns the accounts of a file, in its order or by id.
    private func declarations(
        _ field: Field<DeclaredAccounts>, _ assembly: inout AccountAssembly,
        _ memory: AccountMemory?, _ decoding: inout Decoding
    ) -> DeclaredAccounts.Reading {
        var reading = DeclaredAccounts.Reading()
        switch field.value {
        case .list(let listed)?:
            let accounts = listed.compactMap { account in
                assembly.declaration(of: account, &decoding).map { (account, $0) }
            }
            reading.all = accounts.map(\.1)
            for account in reading.all { _ = reading.names.add(assembly.names(of: account)) }
            assembly.reportShared(accounts, &decoding)
        case .folder(let path)? where !skipsAccountFiles:
            reading = AccountFolder(
                path, DeclaredAccount.schema(catalogue), memory: memory, writers: writers
            ).accounts(named: field.position, &assembly, &decoding)
        case .folder?, nil: break
        }
        return reading
    }

    private func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return environment.folder }
        let folder = slash == path.startIndex ? "/" : String(path[..<slash])
        return folder.hasPrefix("/") ? folder : join(environment.folder, folder[...])
    }
}

extension JobFileReader {
    /// Checks that nobody but `runner` and root could put another file at an absolute path, whether
    /// there is one or not.
    ///
    /// - Throws: `JobFileFaults` that says who could.
    public func checkWay(to path: String) throws(JobFileFaults) {
        do throws(JobFileFault) {
            try writers?.checkWay(to: path)
        } catch {
            throw JobFileFaults(path: path, faults: [error])
        }
    }

    /// Reads the file at a path, which may be a pipe, up to the maximum size of a job file.
    ///
    /// - Parameters:
    ///   - now: the current time; without it, the reader looks for no warnings.
    ///   - memory: the accounts as they were read before, and then as they are now.
    /// - Throws: `JobFileFaults` if the file cannot be read or has a fault.
    public func read(
        fileAt path: String, warningAt now: Instant? = nil,
        remembering memory: AccountMemory? = nil
    ) throws(JobFileFaults) -> JobFile {
        try read(bytes(of: path), path: path, warningAt: now, remembering: memory)
    }

    /// Returns the contents of the file at a path, which may be a pipe.
    ///
    /// - Throws: `JobFileFaults` if it cannot be read, is too large, or somebody else may write it.
    public func bytes(of path: String) throws(JobFileFaults) -> [UInt8] {
        let location = path.hasPrefix("/") ? path : join(environment.folder, path[...])
        do throws(JobFileFault) {
            try writers?.checkWay(to: location)
            return try BoundedFile.read(location, writers)
        } catch {
            throw JobFileFaults(path: path, faults: [error])
        }
    }

    /// Returns the state directory that a file names, also if the YAML below it cannot be parsed;
    /// `nil` if it names none.
    public func stateDirectory(in bytes: [UInt8], path: String) -> String? {
        // Up to the top-level key in which the parser gave up.
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        while !lines.isEmpty {
            let text = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
            do throws(JobFileFault) {
                let root = try YAMLParser.parse(text).root
                var context = environment
                context.folder = folder(of: path)
                var decoding = Decoding(context)
                let schema = FileDeclaration.schema(catalogue)
                return schema.decode(root, in: .file, &decoding)?.store.directory
            } catch {
                let isKey = { (line: ArraySlice<UInt8>) in
                    line.first.map { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A } ?? false
                }
                guard let last = lines.lastIndex(where: isKey) else { return nil }
                lines.removeSubrange(last...)
            }
        }
        return nil
    }
}

/// Identifies this machine without revealing which one it is.
public enum HostIdentity {
    /// Returns a text that stays the same across restarts, updates and network changes.
    ///
    /// It is a hash of the file `machine-id`. machine-id(5) asks programs to keep the id
    /// confidential and to use only a hash of it. Without a valid file, it is the name of the host.
    public static func text(configuration: String = "/etc") -> String {
        guard let id = machineID("\(configuration)/machine-id") else { return name }
        var hash = StableHash()
        hash.combine("clarity-jobs host")
        hash.combine(id)
        return String(hash.value, radix: 16)
    }

    /// Returns the 32 digits in the file; `nil` if it contains something else, such as
    /// `uninitialized`.
    private static func machineID(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, buffer.count)
        let line = buffer.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }
        let text = String(decoding: line, as: UTF8.self)
        return text.utf8.count == 32 && text.allSatisfy(\.isHexDigit) ? text : nil
    }

    /// The name of the host, as the kernel knows it.
    public static var name: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The home folder of this process's user.
public enum HomeFolder {
    /// Returns `HOME` of an environment, or else what the system's user database says.
    public static func path(_ environment: [String: String]) -> String {
        if let home = environment["HOME"], !home.isEmpty { return home }
        return getpwuid(geteuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
    }
}
