import HealthStore
import JSON

/// Writes records as Observations of FHIR R4 (4.0.1), one on each line. A clinic's resources are
/// lines of their own, as they came, and a CDA document is a DocumentReference.
///
/// A type has the codes of `FHIRCoding`, and each record an id that the next export gives it again.
/// A value, its unit and the times are as the source wrote them, except that a share of 1, as which
/// HealthKit writes percentages, is multiplied by 100.
struct RecordObservations: RecordLines {
    static let heading = ""
    /// The system of HealthKit's names, as other converters of HealthKit have it.
    fileprivate static let healthKit: JSON = "http://developer.apple.com/documentation/healthkit"

    /// What many records have in common.
    fileprivate struct Origin {
        /// The members from the status to the performer.
        let head: [UInt8]
        /// What follows the number of a quantity.
        let unit: [UInt8]
        let isPercentage: Bool
        let version: [UInt8]?
    }

    fileprivate struct Word {
        let isNumber: Bool
        let bytes: [UInt8]
    }

    private let origins: SegmentTexts<Origin>
    private let words: SegmentTexts<Word>
    private let metadata: SegmentTexts<Details>
    private let segment: Segment
    private let type: String
    private let subject: JSON
    private var ids: RecordIDs
    private var times = TimeWriter()

    static func fileName(of type: String) -> String {
        switch type {
        case KeptFile.clinicalResource: "\(type).ndjson"
        case KeptFile.clinicalDocument: "DocumentReference.\(type).ndjson"
        default: "Observation.\(type).ndjson"
        }
    }

    init(_ segment: Segment, type: String, _ recipient: Recipient) {
        (self.segment, self.type) = (segment, type)
        let subject = recipient.patient.subject
        self.subject = subject
        origins = SegmentTexts(segment) { Origin(RecordOrigin($0), type: type, subject) }
        words = SegmentTexts(segment) { Word($0) }
        metadata = SegmentTexts(segment) { Details(RecordMetadata($0), of: type) }
        ids = RecordIDs(segment, of: type, in: recipient.store)
    }

    mutating func append(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        switch type {
        case KeptFile.clinicalResource: appendResource(record, to: &bytes)
        case KeptFile.clinicalDocument: appendDocument(record, to: &bytes)
        default:
            append(record, under: ids.next(record), to: &bytes)
        }
    }

    /// Appends the line of an Observation under an id.
    mutating func append(
        _ record: ArchivedRecord, under id: FHIRID, to bytes: inout [UInt8]
    ) {
        let origin = origins[record.origin]
        let details = record.metadata.map { metadata[$0] }
        bytes += #"{"resourceType":"Observation","id":""#.utf8
        id.append(to: &bytes)
        bytes += #"","#.utf8
        bytes += origin.head
        appendTimes(of: record, to: &bytes)
        var word: [UInt8]?
        if let curve = details?.curve {
            bytes += curve.head + (curve.unit ?? origin.unit) + curve.data
            // There is one value, and the curve is it.
            word = record.valueText(in: segment).flatMap { component("Classification", $0) }
        } else if let statement = details?.statement, record.value == .none {
            bytes += statement
        } else {
            appendValue(of: record, origin, to: &bytes)
        }
        let components = [origin.version, word, details?.components].compactMap { part in
            part.flatMap { $0.isEmpty ? nil : $0 }
        }
        if !components.isEmpty {
            bytes += #","component":["#.utf8
            bytes += components.joined(separator: [UInt8(ascii: ",")])
            bytes.append(UInt8(ascii: "]"))
        }
        bytes += "}\n".utf8
    }

    // MARK: Files

    private func content(_ record: ArchivedRecord) -> String {
        let pairs = record.metadata.map { RecordMetadata(segment.texts[$0]).pairs } ?? []
        return pairs.first { $0.name == KeptFile.content }?.value ?? ""
    }

    /// Appends a resource as it came, without the line ends in it, which mean nothing between the
    /// parts of a JSON text and cannot be anywhere else.
    private func appendResource(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        bytes += content(record).utf8.filter { $0 != 0x0A && $0 != 0x0D }
        bytes.append(0x0A)
    }

    private mutating func appendDocument(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        let path = RecordOrigin(segment.texts[record.origin]).source ?? ""
        let document: JSON = [
            "resourceType": "DocumentReference", "id": .string(ids.next(record).text),
            "status": "current", "type": ["text": "CDA document of an Apple Health export"],
            "subject": subject,
            "date": .string(times.text(record.start, record.offsets.start)),
            "content": [
                [
                    "attachment": [
                        "contentType": "text/xml",
                        "data": .string(Array(content(record).utf8).base64),
                        "title": .string(String(path.dropFirst())),
                    ]
                ]
            ],
        ]
        bytes += document.bytes
        bytes.append(0x0A)
    }

    // MARK: Times

    /// The seconds of the years 1 to 9999, without their first and last day.
    private static let writable: Range<Int64> = -62_135_510_400..<253_402_214_400

    private mutating func appendTimes(of record: ArchivedRecord, to bytes: inout [UInt8]) {
        let writable = RecordObservations.writable
        if writable.contains(record.start) {
            let isPeriod = record.end > record.start && writable.contains(record.end)
            bytes += (isPeriod ? #","effectivePeriod":{"start":"# : #","effectiveDateTime":"#).utf8
            append(record.start, record.offsets.start, to: &bytes)
            if isPeriod {
                bytes += #","end":"#.utf8
                append(record.end, record.offsets.end, to: &bytes)
                bytes.append(UInt8(ascii: "}"))
            }
        }
        if let created = record.created, writable.contains(created) {
            bytes += #","issued":"#.utf8
            append(created, record.offsets.created, to: &bytes)
        }
    }

    private mutating func append(_ seconds: Int64, _ offset: Int16, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // FHIR has no offset beyond 14 hours.
        let isPossible = (-14 * 60...14 * 60).contains(offset)
        times.append(seconds, isPossible ? offset : 0, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    // MARK: Values

    private func appendValue(
        of record: ArchivedRecord, _ origin: Origin, to bytes: inout [UInt8]
    ) {
        switch record.value {
        case .none: break
        case .number(var mantissa, var decimals):
            // Some apps write percentages as such; `UnitConversion` tells them apart alike.
            if origin.isPercentage, mantissa.magnitude <= powerOfTen(decimals) {
                mantissa *= decimals > 1 ? 1 : decimals > 0 ? 10 : 100
                decimals -= min(decimals, 2)
            }
            bytes += #","valueQuantity":{"value":"#.utf8
            bytes += RecordNumber.text(mantissa: mantissa, decimals: decimals).utf8
            bytes += origin.unit
        case .text(let index):
            let word = words[index]
            bytes += word.bytes
            // An exponent or more than 18 digits: a share stays one.
            if word.isNumber { bytes += origin.isPercentage ? Origin.share : origin.unit }
        }
    }

    private func powerOfTen(_ exponent: UInt8) -> UInt64 {
        (0..<exponent).reduce(1) { power, _ in power &* 10 }
    }
}

extension RecordObservations.Origin {
    fileprivate static let share = bytes(ofUnit: "1", code: "1")

    fileprivate init(_ origin: RecordOrigin, type: String, _ subject: JSON) {
        let type = origin.type ?? type
        let isOfHealthKit = type.hasPrefix("HK")
        let coding = FHIRCoding(type: type, unit: origin.unit)
        var codings = coding.loinc.map { code, display -> JSON in
            [
                "system": "http://loinc.org", "code": .string(code), "display": .string(display),
            ]
        }
        if isOfHealthKit, isCode(type) {
            codings.append(["system": RecordObservations.healthKit, "code": .string(type)])
        }
        let name = ArchivedType.shortName(of: type)
        let category: JSON = [
            "system": "http://terminology.hl7.org/CodeSystem/observation-category",
            "code": .text(coding.category),
        ]
        func display(_ text: String?) -> JSON {
            text.flatMap { isBlank($0) ? nil : ["display": .string($0)] } ?? .null
        }
        let source = display(origin.source)
        let members: JSON = [
            "status": "final",
            "category": coding.category == nil ? .null : [["coding": [category]]],
            "code": JSON.object([
                JSON.Member(name: "coding", value: codings.isEmpty ? .null : .array(codings)),
                JSON.Member(name: "text", value: isBlank(name) ? "unknown" : .string(name)),
            ]).withoutNulls,
            "subject": subject,
            "performer": source == .null ? .null : [source],
            "device": display(origin.device),
        ]
        head = Array(members.withoutNulls.bytes.dropFirst().dropLast())
        unit = RecordObservations.Origin.bytes(ofUnit: origin.unit, code: coding.unit)
        isPercentage = isOfHealthKit && origin.unit == "%"
        version = origin.version.flatMap { component("sourceVersion", $0) }
    }

    fileprivate static func bytes(ofUnit unit: String?, code: String?) -> [UInt8] {
        guard let unit, !isBlank(unit) else { return Array("}".utf8) }
        let members: JSON = [
            "unit": .string(unit),
            "system": code == nil ? .null : "http://unitsofmeasure.org", "code": .text(code),
        ]
        return [UInt8(ascii: ",")] + members.withoutNulls.bytes.dropFirst()
    }
}

extension RecordObservations {
    /// What the metadata of a record says.
    fileprivate struct Details {
        /// The entries as components, with commas between them.
        let components: [UInt8]
        /// The value of a record whose source names it among the rest.
        let statement: [UInt8]?
        let curve: Curve?

        init(_ metadata: RecordMetadata, of type: String) {
            let curve = Curve(metadata, of: type)
            self.curve = curve
            let pressures = Pressures(metadata, of: type)
            let coded = [curve?.name].compactMap(\.self) + (pressures?.names ?? [])
            let texts = metadata.pairs.filter { !coded.contains($0.name) }
                .compactMap { component($0.name, $0.value) }
            components = Array(
                ((pressures?.components ?? []) + texts).joined(separator: [UInt8(ascii: ",")]))
            // Without it, a dose that was skipped would look like one that was taken.
            let status =
                type == "medications" ? metadata.pairs.first { $0.name == "status" }?.value : nil
            statement = status.flatMap { text in
                guard !isBlank(text) else { return nil }
                let value: JSON = ["valueString": .string(text)]
                return [UInt8(ascii: ",")] + value.bytes.dropFirst().dropLast()
            }
        }
    }

    /// The two pressures of a panel, as the profile of blood pressure requires them
    /// (hl7.org/fhir/R4/bp.html): of HealthKit's correlation, or of a point of Health Auto Export.
    fileprivate struct Pressures {
        /// The entries of the metadata that have them.
        let names: [String]
        let components: [[UInt8]]

        init?(_ metadata: RecordMetadata, of type: String) {
            func text(_ name: String) -> String? {
                metadata.pairs.first { $0.name == name }?.value
            }
            let parts = ["BloodPressureSystolic", "BloodPressureDiastolic"]
            let found: [String: (value: String?, unit: String?)]
            switch ArchivedType.shortName(of: type) {
            case "BloodPressure":
                names = ["Record"]
                found = Pressures.records(text("Record"))
            case "blood_pressure":
                names = ["systolic", "diastolic"]
                let values = names.map { (value: text($0), unit: Optional("mmHg")) }
                found = Dictionary(uniqueKeysWithValues: zip(parts, values))
            default: return nil
            }
            var components: [[UInt8]] = []
            for part in parts {
                guard let (value, unit) = found[part], let value,
                    RecordObservations.Word.isNumber(Array(value.utf8))
                else { return nil }
                let coding = FHIRCoding(type: part, unit: unit)
                let codings = coding.loinc.map { code, display -> JSON in
                    [
                        "system": "http://loinc.org", "code": .string(code),
                        "display": .string(display),
                    ]
                }
                let code: JSON = ["coding": .array(codings), "text": .string(part)]
                components.append(
                    Array(#"{"code":"#.utf8) + code.bytes
                        + Array(#","valueQuantity":{"value":\#(value)"#.utf8)
                        + Origin.bytes(ofUnit: unit, code: coding.unit) + [UInt8(ascii: "}")])
            }
            self.components = components
        }

        /// Returns the values of a correlation's records, by their short types.
        private static func records(
            _ written: String?
        ) -> [String: (value: String?, unit: String?)] {
            guard let written else { return [:] }
            do throws(JSONFault) {
                guard case .array(let list) = try JSONParser.parse(Array(written.utf8)) else {
                    return [:]
                }
                return Dictionary(
                    list.map { record in
                        (
                            ArchivedType.shortName(of: record["type"]?.text ?? ""),
                            (record["value"]?.text, record["unit"]?.text)
                        )
                    }, uniquingKeysWith: { first, _ in first })
            } catch {
                // What another program wrote there stays a text.
                return [:]
            }
        }
    }

    /// The curve of an electrocardiogram as SampledData: of a phone's file, or of the list of
    /// voltages that Health Auto Export writes.
    fileprivate struct Curve {
        /// The entry of the metadata that has it.
        let name: String
        let head = Array(#","valueSampledData":{"origin":{"value":0"#.utf8)
        /// What follows the origin's number; `nil` for the record's own unit.
        let unit: [UInt8]?
        let data: [UInt8]

        init?(_ metadata: RecordMetadata, of type: String) {
            // Samples without a period are no curve; they stay a component.
            let recorded = RecordedCurve(of: type) { name in
                metadata.pairs.first { $0.name == name }?.value
            }
            guard let recorded else { return nil }
            name = recorded.name
            unit = recorded.unit.map {
                Origin.bytes(ofUnit: $0, code: FHIRCoding(type: type, unit: $0).unit)
            }
            let members: JSON = [
                "period": .number(1000 / recorded.rate), "dimensions": 1,
                "data": .string(recorded.numbers),
            ]
            data = [UInt8(ascii: ",")] + members.bytes.dropFirst()
        }
    }
}

extension RecordObservations.Word {
    /// Returns the member with the value; of a number what precedes its unit.
    fileprivate init(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        isNumber = isCode(text) && RecordObservations.Word.isNumber(bytes)
        if isNumber {
            self.bytes = Array(#","valueQuantity":{"value":"#.utf8) + bytes
        } else if isBlank(text) {
            self.bytes = []
        } else {
            let coding: JSON = ["system": RecordObservations.healthKit, "code": .string(text)]
            let value: JSON =
                text.hasPrefix("HK") && isCode(text)
                ? ["valueCodeableConcept": ["coding": [coding]]] : ["valueString": .string(text)]
            self.bytes = [UInt8(ascii: ",")] + value.bytes.dropFirst().dropLast()
        }
    }

    fileprivate static func isNumber(_ bytes: [UInt8]) -> Bool {
        do throws(JSONFault) {
            return try JSONParser.parse(bytes).double != nil
        } catch {
            return false
        }
    }
}

/// Returns a component; `nil` without a name. FHIR has no empty texts.
private func component(_ name: String, _ value: String) -> [UInt8]? {
    guard !isBlank(name) else { return nil }
    let members: JSON = [
        "code": ["text": .string(name)], "valueString": isBlank(value) ? .null : .string(value),
    ]
    return members.withoutNulls.bytes
}

private func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

private func isCode(_ text: String) -> Bool {
    !text.isEmpty && !text.contains(where: \.isWhitespace)
}
