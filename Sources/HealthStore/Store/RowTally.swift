import Database

/// Adds up which rows of the counted tables a connection to a file changes, until its transaction ends.
///
/// Insertions of samples are added by what inserts them (`CountedTable.countsInsertions`).
final class RowTally: RowWatch {
    /// What was added to one key.
    private struct Sum {
        let key: CountRow.Key
        var number: Int64
        var weight: Int64
    }

    private let tables: [String: Columns]
    private var sums: [CountRow.Key: (number: Int64, weight: Int64)] = [:]
    /// The sums of the last former and the last new row, which `sums` do not have yet. Neighbouring
    /// rows mostly have the same keys, and need no look into `sums`.
    private var last: (former: Sum?, new: Sum?)
    /// The table of the last row.
    private var lastTable: (name: String, columns: Columns?)?

    /// - Throws: `DatabaseError` if the tables cannot be read.
    init(_ file: FileConnection) throws(DatabaseError) {
        var tables: [String: Columns] = [:]
        for table in CountedTable.all {
            let found = try file.all(
                "SELECT name, cid FROM pragma_table_info(?)", .text(table.name)
            ) { ($0.text(0), Int32($0.integer(1))) }
            tables[table.name] = Columns(
                table: table, positions: Dictionary(found, uniquingKeysWith: { first, _ in first }))
        }
        self.tables = tables
    }

    func note(_ change: borrowing RowChange) {
        guard let columns = columns(of: change.table) else { return }
        if change.has(.former) {
            let weight = 0 &- columns.weight(change, .former)
            add(columns.key(change, .former), -1, weight, to: &last.former)
        } else if !columns.table.countsInsertions {
            return
        }
        if change.has(.new) {
            add(columns.key(change, .new), 1, columns.weight(change, .new), to: &last.new)
        }
    }

    private func columns(of table: String) -> Columns? {
        if let lastTable, lastTable.name == table { return lastTable.columns }
        let columns = tables[table]
        lastTable = (table, columns)
        return columns
    }

    func add(_ key: CountRow.Key, _ number: Int64, _ weight: Int64) {
        let sum = sums[key] ?? (0, 0)
        sums[key] = (sum.number + number, sum.weight &+ weight)
    }

    private func add(
        _ key: CountRow.Key, _ number: Int64, _ weight: Int64, to last: inout Sum?
    ) {
        if last?.key == key {
            last?.number += number
            last?.weight &+= weight
        } else {
            if let last { add(last.key, last.number, last.weight) }
            last = Sum(key: key, number: number, weight: weight)
        }
    }

    func forget() {
        sums.removeAll()
        last = (nil, nil)
    }

    /// Returns what has changed, and begins anew. The order follows from the keys: an order by chance
    /// would show in the generations of the counts.
    func take() -> [CountRow] {
        defer { forget() }
        for sum in [last.former, last.new].compactMap(\.self) {
            add(sum.key, sum.number, sum.weight)
        }
        return sums.sorted { $0.key < $1.key }.map {
            CountRow(key: $0.key, number: $0.value.number, weight: $0.value.weight)
        }
    }
}

/// The columns of a table that tell where its rows count.
private struct Columns {
    let table: CountedTable
    private let type: Int32?
    private let month: Int32?
    private let state: Int32?
    private let weight: Int32?
    /// Whether a sample has its value, beside its state.
    private let sealed: Int32?
    /// The batch of a sample, beside its weight.
    private let batch: Int32?

    /// - Parameter positions: those of the columns, by name.
    init(table: CountedTable, positions: [String: Int32]) {
        self.table = table
        func position(_ name: String?) -> Int32? { name.flatMap { positions[$0] } }
        type = position(table.type)
        month =
            switch table.month {
            case .column(let name)?, .seconds(let name)?, .milliseconds(let name)?: position(name)
            case nil: nil
            }
        state =
            switch table.state {
            case .column(let name)?: position(name)
            case .sample?: position("state")
            case .removedMonth?: position("is_back")
            case nil: nil
            }
        weight =
            switch table.weight {
            case .column(let name), .milliseconds(let name): position(name)
            case .sample: position("start_s")
            }
        (sealed, batch) = (position("sealed"), position("batch_id"))
    }

    func key(_ change: borrowing RowChange, _ side: RowChange.Side) -> CountRow.Key {
        CountRow.Key(
            place: table.name, type: text(type, change, side), month: month(change, side),
            state: state(change, side))
    }

    func weight(_ change: borrowing RowChange, _ side: RowChange.Side) -> Int64 {
        let own = integer(weight, change, side)
        return switch table.weight {
        case .column: own
        case .milliseconds: own / 1000
        case .sample: own &+ CountedTable.batchFactor &* integer(batch, change, side)
        }
    }

    private func month(_ change: borrowing RowChange, _ side: RowChange.Side) -> Int64 {
        let own = integer(month, change, side)
        return switch table.month {
        case .seconds?: CountedTable.month(of: own)
        case .milliseconds?: CountedTable.month(of: own / 1000)
        case .column?, nil: own
        }
    }

    private func state(_ change: borrowing RowChange, _ side: RowChange.Side) -> String {
        switch table.state {
        case .column?: return text(state, change, side)
        case .sample?:
            let isEmpty = sealed.map { change.isNull($0, side) } ?? false
            return isEmpty ? "emptied" : text(state, change, side)
        case .removedMonth?: return integer(state, change, side) == 1 ? "back" : ""
        case nil: return ""
        }
    }

    private func integer(
        _ column: Int32?, _ change: borrowing RowChange, _ side: RowChange.Side
    ) -> Int64 {
        guard let column else { return 0 }
        return change.integer(column, side) ?? 0
    }

    private func text(
        _ column: Int32?, _ change: borrowing RowChange, _ side: RowChange.Side
    ) -> String {
        guard let column else { return "" }
        return change.text(column, side) ?? ""
    }
}
