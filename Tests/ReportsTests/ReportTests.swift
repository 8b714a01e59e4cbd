import ClarityScheduler
import JSON
import Reports
import Testing

@Suite("Declaring a report once")
struct ReportTests {
    private struct Dog: Reported {
        var name: String
        var legs = 4
        var seenAt: Instant?
        var puppies: [Dog] = []

        static let report = Report<Dog>(
            [
                Column("name", "what it is called") { $0.name }.shown("NAME").csv(),
                Column("legs", "number of its legs") { $0.legs }
                    .shown("LEGS", isNumber: true).csv("feet"),
                Column("seen_at", "when it was last seen") { $0.seenAt }.shown("SEEN").csv(),
                Column("puppies", "its young") { $0.puppies },
            ], name: "dog")
    }

    private let rex = Dog(
        name: "Rex", seenAt: Instant(rfc3339: "2026-11-20T06:00:00.250Z"),
        puppies: [Dog(name: "Pip", legs: 3)])

    @Test func `an object has every column, and null for none`() {
        #expect(
            rex.object.line == """
                {"name":"Rex","legs":4,"seen_at":"2026-11-20T06:00:00.250Z","puppies":\
                [{"name":"Pip","legs":3,"seen_at":null,"puppies":[]}]}
                """)
    }

    @Test func `a report may leave out what has no value`() {
        let report = Report(Dog.report.columns, omitsNulls: true)

        #expect(report.object(Dog(name: "Pip")).line == #"{"name":"Pip","legs":4,"puppies":[]}"#)
    }

    @Test func `a table has the shown columns, and instants without milliseconds`() {
        let table = Dog.report.table([rex, Dog(name: "Pip")])

        #expect(table.heading == ["NAME", "LEGS", "SEEN"])
        #expect(table.rows == [["Rex", "4", "2026-11-20T06:00:00Z"], ["Pip", "4", "-"]])
        #expect(table.numbers == [1])
    }

    @Test func `a table may have an order of its own, and new columns follow`() {
        let report = Report(Dog.report.columns, tableOrder: ["SEEN"])

        #expect(report.table([Dog(name: "Pip")]).heading == ["SEEN", "NAME", "LEGS"])
    }

    @Test func `CSV has whole instants and nothing for none`() {
        #expect(
            Dog.report.csv([rex, Dog(name: "Pip")]) == [
                ["name", "feet", "seen_at"], ["Rex", "4", "2026-11-20T06:00:00.250Z"],
                ["Pip", "4", ""],
            ])
    }

    @Test func `the types follow from the values`() {
        #expect(
            Dog.report.fields.map { "\($0.name): \($0.type), \($0.isOptional)" } == [
                "name: text, false", "legs: integer, false", "seen_at: instant, true",
                #"puppies: list(Reports.ValueType.shared("dog")), false"#,
            ])
    }

    @Test func `columns of a row serve a row that contains it`() {
        struct Owned { var dog: Dog }
        let report = Report<Owned>(
            Dog.report.without(["puppies"]).columns.map { column in column.of { $0.dog } })

        #expect(
            report.object(Owned(dog: Dog(name: "Pip"))).line
                == #"{"name":"Pip","legs":4,"seen_at":null}"#)
    }
}
