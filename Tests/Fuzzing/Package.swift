// swift-tools-version: 6.2
// A package of its own, since all that it is made of is built with the fuzzer's marks in it.
// `make fuzz` builds and runs it.
import PackageDescription

let package = Package(
    name: "clarity-fuzzing",
    dependencies: [.package(name: "clarity-jobs", path: "../..")],
    targets: [
        .executableTarget(
            name: "fuzz-scanner",
            dependencies: [.product(name: "ClarityWorkers", package: "clarity-jobs")],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .treatAllWarnings(as: .error),
            ])
    ]
)
