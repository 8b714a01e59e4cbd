// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["ClarityTestSupport"], exclude: exclude,
        swiftSettings: strict)
}

func system(_ name: String, _ package: String?, _ debian: String) -> Target {
    .systemLibrary(name: name, pkgConfig: package, providers: [.apt([debian])])
}

let package = Package(
    name: "clarity-jobs",
    products: [
        .library(name: "ClarityScheduler", targets: ["ClarityScheduler"]),
        .library(name: "ClarityHost", targets: ["ClarityHost", "Platform", "Database"]),
        .library(
            name: "ClarityJobs",
            targets: ["ClarityJobs", "Backend", "BackendContract", "HealthStore", "HealthModel"]),
        .executable(name: "clarity-jobs", targets: ["clarity-jobs"]),
        .executable(name: "clarity-jobs-worker", targets: ["clarity-jobs-worker"]),
        .executable(name: "clarity-jobs-keeper", targets: ["clarity-jobs-keeper"]),
        .executable(name: "clarity-jobs-web", targets: ["clarity-jobs-web"]),
        .executable(name: "clarity-jobs-sandbox", targets: ["clarity-jobs-sandbox"]),
        .executable(name: "house-jobs", targets: ["house-jobs"]),
        // For tests alone, which load it before the programs; no release has it.
        .library(name: "Faultline", type: .dynamic, targets: ["Faultline"]),
    ],
    targets: [
        // C libraries, each imported in one folder of a program only.
        system("CSQLite", "sqlite3", "libsqlite3-dev"),
        system("CYAML", "yaml-0.1", "libyaml-dev"),
        system("CCurl", "libcurl", "libcurl4-openssl-dev"),
        system("CSodium", "libsodium", "libsodium-dev"),
        // In the worker, where libcurl loads it anyway, and in the sandbox.
        system("COpenSSL", "libcrypto", "libssl-dev"),
        // Linked statically, by its module map: no start of a program has to load it.
        system("CZstd", nil, "libzstd-dev"),
        system("CArchive", "libarchive", "libarchive-dev"),
        system("CMicroHTTPD", "libmicrohttpd", "libmicrohttpd-dev"),
        // In the programs with libmicrohttpd, which loads it anyway.
        system("CGnuTLS", "gnutls", "libgnutls28-dev"),
        .target(name: "CLinux"),
        // The files of the web pages, embedded by scripts/list-assets.
        .target(name: "CWebPages", exclude: ["assets"]),
        // Loaded when it is first called for, never linked.
        .target(name: "CSystemd"),
        .target(name: "CPostgreSQL"),
        .target(name: "CMosquitto"),

        // Libraries; each uses only what it names.
        library("JSON"),
        library("Database", ["CSQLite", "CPostgreSQL"]),
        library("WebAPI"),
        library("ClarityScheduler"),
        library("Platform", ["ClarityScheduler", "CLinux", "CSodium"]),
        // Beside Platform, so that only programs that serve load libmicrohttpd.
        library("HTTPServing", ["Platform", "CMicroHTTPD"]),
        library(
            "ClarityHost",
            [
                "Platform", "ClarityScheduler", "JSON", "Database", "CYAML", "CLinux",
                "CSystemd",
            ]),
        // What a measurement is; without input and output.
        library("HealthModel", ["ClarityScheduler"]),
        library(
            "HealthStore",
            ["HealthModel", "Platform", "ClarityScheduler", "JSON", "Database", "CSodium", "CZstd"]),
        // Apart, so that `clarity-jobs` knows the dialects and does not load libcurl.
        .target(
            name: "BackendContract", dependencies: ["HealthModel", "ClarityScheduler"],
            path: "Sources/Backend/Contract", swiftSettings: strict),
        .target(
            name: "Backend",
            dependencies: [
                "BackendContract", "HealthModel", "Platform", "ClarityScheduler", "JSON", "CCurl",
            ],
            exclude: ["Contract"], swiftSettings: strict),
        library(
            "Import",
            ["HealthStore", "HealthModel", "Platform", "ClarityScheduler", "JSON", "CArchive"]),
        library(
            "ClarityJobs",
            [
                "Reports", "Backend", "BackendContract", "Import", "HealthStore", "HealthModel",
                "Platform",
                "ClarityScheduler",
                "JSON", "CLinux", "CMosquitto", "COpenSSL",
            ]),
        library(
            "Reports",
            [
                "HealthStore", "HealthModel", "Platform", "ClarityScheduler", "JSON", "Database",
                "CLinux",
            ]),

        // Programs.
        program(
            "clarity-jobs",
            [
                "Reports", "BackendContract", "ClarityHost", "HealthStore", "HealthModel",
                "Platform",
                "ClarityScheduler", "JSON", "Database", "WebAPI", "CLinux",
            ]),
        program(
            "clarity-jobs-worker",
            [
                "Reports", "ClarityJobs", "Backend", "BackendContract", "Import", "HealthStore",
                "HealthModel",
                "Platform",
                "ClarityScheduler", "JSON", "CLinux",
            ]),
        // In C, because one runs beside each command: it starts in 0.7 ms and takes 0.6 MiB.
        .executableTarget(name: "clarity-jobs-keeper"),
        program(
            "clarity-jobs-web",
            [
                "ClarityHost", "HealthStore", "HealthModel", "HTTPServing", "ClarityScheduler",
                "Platform",
                "JSON", "WebAPI", "CWebPages", "CGnuTLS", "CLinux",
            ]),
        program(
            "clarity-jobs-sandbox",
            ["JSON", "Database", "Platform", "HTTPServing", "CSodium", "COpenSSL"]),

        // Somebody else's jobs, on the engine alone.
        .executableTarget(
            name: "house-jobs", dependencies: ["ClarityHost", "ClarityScheduler"],
            path: "Examples/HouseJobs", exclude: ["jobs.yaml"], swiftSettings: strict),

        // Tests mirror the sources.
        .target(name: "Faultline", path: "Tests/Faultline"),
        // A process that holds a lease in PostgreSQL, for tests that kill and freeze it.
        .executableTarget(
            name: "lease-holder", dependencies: ["ClarityHost", "ClarityScheduler", "Database"],
            path: "Tests/LeaseHolder", swiftSettings: strict),
        // A fork server whose forks say what they find.
        .executableTarget(
            name: "fork-probe", dependencies: ["Backend", "BackendContract", "CLinux", "COpenSSL"],
            path: "Tests/ForkProbe",
            swiftSettings: strict),
        .target(
            name: "ClarityTestSupport", dependencies: ["ClarityScheduler", "CLinux", "Database"],
            path: "Tests/ClarityTestSupport", swiftSettings: strict),
        .target(
            name: "ProgramTestSupport",
            dependencies: [
                "ClarityTestSupport", "ClarityHost", "HealthStore", "HealthModel",
                "ClarityScheduler", "Database",
            ],
            path: "Tests/ProgramTestSupport", swiftSettings: strict),
        tests("JSONTests", ["JSON"]),
        tests("DatabaseTests", ["Database", "CSQLite"]),
        tests("ClaritySchedulerTests", ["ClarityScheduler"]),
        tests("PlatformTests", ["Platform", "ClarityScheduler"]),
        tests(
            "ClarityHostTests",
            [
                "ClarityHost", "Platform", "ClarityScheduler", "CLinux", "JSON", "Database",
                "lease-holder", "fork-probe", "clarity-jobs-keeper",
            ],
            exclude: ["Kernel/Captures"]),
        tests("HealthModelTests", ["HealthModel", "Platform", "ClarityScheduler"]),
        tests(
            "HealthStoreTests",
            ["HealthStore", "HealthModel", "Platform", "ClarityScheduler", "Database"]),
        tests(
            "BackendTests",
            ["Backend", "BackendContract", "HealthModel", "Platform", "ClarityScheduler", "JSON"]),
        tests(
            "ImportTests",
            ["Import", "HealthStore", "HealthModel", "Platform", "ClarityScheduler", "JSON"]),
        tests(
            "ClarityJobsTests",
            [
                "ClarityJobs", "Backend", "BackendContract", "Import", "HealthStore", "HealthModel",
                "Platform",
                "ClarityScheduler",
                "JSON", "Database",
            ]),
        tests(
            "ReportsTests",
            ["Reports", "HealthStore", "HealthModel", "Platform", "ClarityScheduler", "JSON"]),
        tests("HTTPServingTests", ["HTTPServing"]),
        tests("SandboxTests", ["clarity-jobs-sandbox", "HTTPServing", "Platform", "JSON"]),
        tests(
            "CommandLineTests",
            [
                "clarity-jobs", "clarity-jobs-worker", "clarity-jobs-keeper", "clarity-jobs-web",
                "clarity-jobs-sandbox", "ClarityHost", "HealthStore", "HealthModel", "HTTPServing",
                "ClarityScheduler", "Platform", "JSON", "WebAPI", "ProgramTestSupport", "Database",
            ]),
        // What breaks the built programs, and the world around them, on purpose.
        tests(
            "ChaosTests",
            [
                "clarity-jobs", "clarity-jobs-worker", "clarity-jobs-keeper",
                "clarity-jobs-sandbox", "ClarityScheduler", "ProgramTestSupport", "Database",
                // What texts from elsewhere are handed to without a program around it.
                "Backend", "BackendContract", "ClarityHost", "HealthStore", "HealthModel",
                "Reports", "Platform",
                "ClarityJobs",
                "Import", "JSON",
            ]),
        // The whole of it over a month, but for the processes of attempts.
        tests(
            "MonthTests",
            [
                "clarity-jobs-sandbox", "Backend", "BackendContract", "ClarityHost", "ClarityJobs",
                "HealthStore",
                "HealthModel",
                "Platform", "ClarityScheduler", "JSON", "Database",
            ]),
        tests("ExampleTests", ["house-jobs"]),
        tests("ArchitectureTests", [], exclude: ["Folders.md"]),
    ]
)

// The tests read and encrypt years of data: optimized libraries take half of their time, and build
// no slower.
for target in package.targets where target.type == .regular {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .unsafeFlags(["-O"], .when(configuration: .debug))
        ]
}
