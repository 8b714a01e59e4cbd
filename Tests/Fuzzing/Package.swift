// swift-tools-version: 6.2
// A separate package, because the fuzzer instruments everything that it builds, the product's own
// sources (linked in Linked/) included. `make fuzz` builds and runs it.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

func part(
    _ name: String, _ dependencies: [Target.Dependency] = [], without: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Linked/Sources/\(name)", exclude: without,
        swiftSettings: strict)
}

func system(_ name: String, _ package: String?) -> Target {
    .systemLibrary(name: name, path: "Linked/Sources/\(name)", pkgConfig: package)
}

let package = Package(
    name: "clarity-fuzzing",
    targets: [
        system("CSQLite", "sqlite3"), system("CYAML", "yaml-0.1"), system("CCurl", "libcurl"),
        system("CSodium", "libsodium"), system("CZstd", nil), system("CArchive", "libarchive"),
        system("CMicroHTTPD", "libmicrohttpd"), system("COpenSSL", "libcrypto"),
        .target(name: "CLinux", path: "Linked/Sources/CLinux"),
        .target(name: "CSystemd", path: "Linked/Sources/CSystemd"),
        .target(name: "CPostgreSQL", path: "Linked/Sources/CPostgreSQL"),
        .target(name: "CMosquitto", path: "Linked/Sources/CMosquitto"),
        part("JSON"), part("Database", ["CSQLite", "CPostgreSQL"]), part("ClarityScheduler"),
        part("Platform", ["ClarityScheduler", "CLinux", "CSodium"]),
        part("HTTPServing", ["Platform", "CMicroHTTPD"]),
        part(
            "ClarityHost",
            ["Platform", "ClarityScheduler", "JSON", "Database", "CYAML", "CLinux", "CSystemd"]),
        part("HealthModel", ["ClarityScheduler"]),
        part(
            "HealthStore",
            [
                "HealthModel", "Platform", "ClarityScheduler", "JSON", "Database", "CSodium",
                "CZstd",
            ]),
        .target(
            name: "BackendContract", dependencies: ["HealthModel", "ClarityScheduler"],
            path: "Linked/Sources/Backend/Contract", swiftSettings: strict),
        part(
            "Backend",
            ["BackendContract", "HealthModel", "Platform", "ClarityScheduler", "JSON", "CCurl"],
            without: ["Contract"]),
        part(
            "Import",
            ["HealthStore", "HealthModel", "Platform", "ClarityScheduler", "JSON", "CArchive"]),
        part(
            "Reports",
            [
                "HealthStore", "HealthModel", "Platform", "ClarityScheduler", "JSON", "Database",
                "CLinux",
            ]),
        part(
            "ClarityJobs",
            [
                "Reports", "Backend", "BackendContract", "Import", "HealthStore", "HealthModel",
                "Platform", "ClarityScheduler", "JSON", "CLinux", "CMosquitto",
                "COpenSSL",
            ]),
        // The sandbox is a library here, without its main function.
        part(
            "clarity-jobs-sandbox",
            ["JSON", "Database", "Platform", "HTTPServing", "CSodium", "COpenSSL"],
            without: ["Program.swift"]),
        .target(
            name: "ClarityTestSupport", dependencies: ["ClarityScheduler", "CLinux", "Database"],
            path: "Linked/ClarityTestSupport", swiftSettings: strict),
        .target(
            name: "FuzzProperties",
            dependencies: [
                "ClarityHost", "HealthStore", "HealthModel", "ClarityScheduler", "Platform",
                "Backend", "BackendContract", "Import", "Reports", "ClarityJobs", "JSON",
                "Database", "ClarityTestSupport", "clarity-jobs-sandbox",
            ],
            path: "Linked/Properties", swiftSettings: strict),
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzProperties"], swiftSettings: strict),
    ]
)
