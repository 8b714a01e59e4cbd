// swift-tools-version: 6.2
// A separate package, so that building the package above it does not build this one.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "clarity-benchmarks",
    dependencies: [.package(name: "clarity-jobs", path: "..")],
    targets: [
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                .product(name: "ClarityScheduler", package: "clarity-jobs"),
                .product(name: "ClarityHost", package: "clarity-jobs"),
            ],
            path: "Sources/Benchmarks", swiftSettings: strict),
        .executableTarget(
            name: "benchmark-worker",
            dependencies: [.product(name: "ClarityScheduler", package: "clarity-jobs")],
            path: "Sources/BenchmarkWorker", swiftSettings: strict),
        .executableTarget(
            name: "benchmark-records",
            dependencies: [.product(name: "ClarityJobs", package: "clarity-jobs")],
            path: "Sources/BenchmarkRecords", swiftSettings: strict),
        .executableTarget(
            name: "benchmark-upload",
            dependencies: [
                .product(name: "ClarityJobs", package: "clarity-jobs"),
                .product(name: "ClarityHost", package: "clarity-jobs"),
                .product(name: "ClarityScheduler", package: "clarity-jobs"),
            ],
            path: "Sources/BenchmarkUpload", swiftSettings: strict),
    ]
)
