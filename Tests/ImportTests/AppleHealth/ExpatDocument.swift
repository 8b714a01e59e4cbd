/// Invents exports for the comparison with expat, in every form that XML allows, not only the forms
/// that a phone writes.
struct ExpatDocument {
    private var draw: TrialNumbers

    /// Makes the document of a seed.
    static func make(seed: UInt64) -> [UInt8] {
        var document = ExpatDocument(draw: TrialNumbers(seed: seed))
        return Array(document.text().utf8)
    }

    /// Makes the document of a seed with one to three bytes after the root's tag replaced, removed
    /// or inserted. Never inserts a question mark: see `ExpatDifferentialTests`.
    static func damaged(seed: UInt64) -> [UInt8] {
        var bytes = make(seed: seed)
        var draw = TrialNumbers(seed: seed &+ 1_000_003)
        // The end of the root's tag, with its last attribute.
        let root = Array("0123456789\">".utf8)
        let body = bytes.firstRange(of: root)?.upperBound ?? 0
        let marks = Array("<>\"'/=&;! \n]-ax0\u{E9}\u{1}".utf8)
        for _ in 0...draw.below(3) where bytes.count > body {
            let place = body + draw.below(bytes.count - body)
            switch draw.below(3) {
            case 0: bytes[place] = marks[draw.below(marks.count)]
            case 1: bytes.remove(at: place)
            default: bytes.insert(marks[draw.below(marks.count)], at: place)
            }
        }
        return bytes
    }

    private mutating func text() -> String {
        var text = draw.one(of: ["", "\u{FEFF}"])
        text += draw.one(of: [
            "", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<?xml version='1.0'?>\n",
        ])
        text += draw.one(of: ["", "<!-- <HealthData> <Record/> -->\n"])
        text += draw.one(of: [
            "",
            "<!DOCTYPE HealthData [\n<!ELEMENT Record ANY>\n<!ATTLIST Record\n type CDATA #REQUIRED\n"
                + " unit CDATA #IMPLIED\n>\n<!-- a note -->]>\n",
        ])
        text += "<HealthData locale=\"en_GB\" padding=\"0123456789\">"
        for _ in 0..<2 + draw.below(12) { text += item() }
        return text + "</HealthData>" + draw.one(of: ["", "\n", "<!-- end -->", " <?end ?>"])
    }

    private mutating func item() -> String {
        switch draw.below(12) {
        case 0...4: record()
        case 5:
            element("Correlation", 3) {
                $0.draw.below(4) == 0
                    ? $0.element("MetadataEntry", names: ["key", "value"]) : $0.record()
            }
        case 6:
            element("Workout", 3) { $0.element($0.draw.one(of: ["WorkoutEvent", "é-x", "a:b"])) }
        case 7:
            element(draw.one(of: ["ActivitySummary", "Me", "ExportDate", "Recorder", "record"]))
        case 8: draw.one(of: ["<!-- > <Record a='b'/> - -->", "<?pi <Record ?>", "<!---->"])
        case 9: draw.one(of: ["<![CDATA[ <Record type=\"x\"/> ]] > ]]>", "<![CDATA[]]>"])
        case 10: draw.one(of: ["text &amp; more", " \u{E9} ", "a > b", "&#65;"])
        default: draw.one(of: ["\n", "\r\n\t", " "])
        }
    }

    private mutating func record() -> String {
        let names = [
            "type", "sourceName", "sourceVersion", "device", "unit", "creationDate", "startDate",
            "endDate", "value", "key", "time", "bpm", "Scale", "types", "a-b", "x:y",
            "\u{E9}t\u{E9}",
        ]
        return element("Record", names: names, 2) {
            $0.element(
                $0.draw.one(of: ["MetadataEntry", "MetadataEntry", "Other"]),
                names: ["key", "value", "b"])
        }
    }

    /// Makes an element with some of these attributes and up to `children` elements in it.
    private mutating func element(
        _ name: String, names: [String] = ["type", "value", "a"], _ children: Int = 0,
        _ child: (inout ExpatDocument) -> String = { _ in "" }
    ) -> String {
        var tag = "<" + name
        // Mostly in the given order, as in an export.
        var names = names
        if draw.below(3) == 0 { names.shuffle(using: &draw) }
        for attribute in names where draw.below(4) > 0 {
            let quote = draw.below(4) == 0 ? "'" : "\""
            tag += draw.below(6) == 0 ? draw.one(of: ["\n  ", "\t", "  "]) : " "
            tag += attribute + (draw.below(8) == 0 ? draw.one(of: [" = ", "= ", "\n="]) : "=")
            tag += quote + value(quote) + quote
        }
        tag += draw.one(of: ["", "", "", " ", "\n"])
        if draw.below(2) == 0 || children == 0 && draw.below(4) > 0 { return tag + "/>" }
        tag += ">"
        for _ in 0..<draw.below(children + 1) { tag += draw.one(of: ["", "\n "]) + child(&self) }
        return tag + "</" + name + draw.one(of: ["", "", " "]) + ">"
    }

    private mutating func value(_ quote: String) -> String {
        var value = ""
        for _ in 0..<draw.below(5) {
            value += draw.one(of: [
                "61", "count/min", "2024-01-21 08:30:00 -0500", "HKQuantityTypeIdentifierHeartRate",
                "&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#10;", "&#x9;", "&#233;",
                "&#x1F3C3;",
                "&#00065;", ">", "\t", "\n", "\r\n", "\r", "\u{E9}", "\u{2019}", "\u{A0}",
                "\u{1F3C3}",
                "\u{D7FF}", "\u{E000}", quote == "'" ? "\"" : "'", "=", "/", "]]>", "-->", "?>",
                "/>",
                "&lt;&lt;HKDevice: 0x2803d9810&gt;, name:Apple Watch, hardware:Watch3,4&gt;",
                String(repeating: "x", count: 1 + draw.below(120)),
            ])
        }
        return value
    }
}

/// The generator SplitMix64, which is small and gives the same numbers for the same seed
/// everywhere.
struct TrialNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to `limit`, exclusive.
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    mutating func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }
}
