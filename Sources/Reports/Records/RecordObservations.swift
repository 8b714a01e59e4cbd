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

    /// What many records have in common.
    fileprivate struct Origin {
        /// The member with the profile that a number meets; empty if there is none.
        let profile: [UInt8]
        /// The members from the status to the device.
        let head: [UInt8]
        /// What follows the number of a quantity.
        let unit: [UInt8]
        let isPercentage: Bool
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
        subject = recipient.patient.subject
        let devices = FHIRDevices(recipient)
        origins = SegmentTexts(segment) { Origin(RecordOrigin($0), type: type, recipient, devices) }
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
        let isOfProfile: Bool
        switch record.value {
        case .number: isOfProfile = true
        case .none: isOfProfile = details?.isPanel ?? false
        case .text: isOfProfile = false
        }
        begin(under: id, origin, isOfProfile: isOfProfile && record.isWritable, &bytes)
        appendTimes(of: record, to: &bytes)
        var word: [UInt8]?
        if let curve = details?.curve {
            bytes += curve.head + (curve.unit ?? origin.unit) + curve.data
            // There is one value, and the curve is it.
            word = record.valueText(in: segment).flatMap {
                FHIRCoding.component("Classification", $0)
            }
        } else if let statement = details?.statement, record.value == .none {
            bytes += statement
        } else {
            appendValue(of: record, origin, to: &bytes)
        }
        end([word, details?.components], &bytes)
        bytes.append(0x0A)
    }

    private func begin(
        under id: FHIRID, _ origin: Origin, isOfProfile: Bool, _ bytes: inout [UInt8]
    ) {
        bytes += #"{"resourceType":"Observation","id":""#.utf8
        id.append(to: &bytes)
        bytes += #"","#.utf8
        if isOfProfile { bytes += origin.profile }
        bytes += origin.head
    }

    private func end(_ components: [[UInt8]?], _ bytes: inout [UInt8]) {
        let components = components.compactMap { part in
            part.flatMap { $0.isEmpty ? nil : $0 }
        }
        if !components.isEmpty {
            bytes += #","component":["#.utf8
            bytes += components.joined(separator: [UInt8(ascii: ",")])
            bytes.append(UInt8(ascii: "]"))
        }
        bytes.append(UInt8(ascii: "}"))
    }

    // MARK: Readings of an hour

    /// Appends readings of one source, unit and metadata as one Observation, whose value is a series
    /// of data (hl7.org/fhir/R4/datatypes.html#SampledData): without a line end.
    ///
    /// - Parameter readings: the indices of records with a number that start at different instants,
    ///   in the order of time.
    mutating func append(_ readings: ArraySlice<Int>, under id: FHIRID, to bytes: inout [UInt8]) {
        guard let first = readings.first, let last = readings.last else { return }
        var record = segment.records[first]
        guard readings.count > 1 else {
            append(record, under: id, to: &bytes)
            bytes.removeLast()
            return
        }
        let records = segment.records
        let period = HourlyReadings.period(readings.lazy.map { records[$0].start })
        let origin = origins[record.origin]
        let details = record.metadata.map { metadata[$0] }
        begin(under: id, origin, isOfProfile: false, &bytes)
        // The instants, with the offset of the first one.
        record.end = records[last].start
        record.offsets.end = record.offsets.start
        record.created = readings.lazy.compactMap { records[$0].created }.max()
        appendTimes(of: record, to: &bytes)
        bytes += #","valueSampledData":{"origin":{"value":0"#.utf8
        bytes += origin.unit
        bytes += #","period":\#(period * 1000),"dimensions":1,"data":""#.utf8
        var next = record.start
        for index in readings {
            let one = records[index]
            while next < one.start {
                bytes += "E ".utf8
                next += period
            }
            if case .number(let mantissa, let decimals) = one.value {
                appendNumber(mantissa, decimals, origin, to: &bytes)
            }
            next += period
            bytes.append(UInt8(ascii: index == last ? "\"" : " "))
        }
        bytes.append(UInt8(ascii: "}"))
        end([details?.components], &bytes)
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

    private mutating func appendTimes(of record: ArchivedRecord, to bytes: inout [UInt8]) {
        let writable = ArchivedRecord.writable
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
        case .number(let mantissa, let decimals):
            bytes += #","valueQuantity":{"value":"#.utf8
            appendNumber(mantissa, decimals, origin, to: &bytes)
            bytes += origin.unit
        case .text(let index):
            let word = words[index]
            bytes += word.bytes
            // An exponent or more than 18 digits: a share stays one.
            if word.isNumber { bytes += origin.isPercentage ? Origin.share : origin.unit }
        }
    }

    private func appendNumber(
        _ mantissa: Int64, _ decimals: UInt8, _ origin: Origin, to bytes: inout [UInt8]
    ) {
        var (mantissa, decimals) = (mantissa, decimals)
        // Some apps write percentages as such; `UnitConversion` tells them apart alike.
        if origin.isPercentage, mantissa.magnitude <= powerOfTen(decimals) {
            mantissa *= decimals > 1 ? 1 : decimals > 0 ? 10 : 100
            decimals -= min(decimals, 2)
        }
        bytes += RecordNumber.text(mantissa: mantissa, decimals: decimals).utf8
    }

    private func powerOfTen(_ exponent: UInt8) -> UInt64 {
        (0..<exponent).reduce(1) { power, _ in power &* 10 }
    }
}

extension ArchivedRecord {
    /// The seconds of the years 1 to 9999, without their first and last day.
    fileprivate static let writable: Range<Int64> = -62_135_510_400..<253_402_214_400

    /// Whether FHIR can write when it starts.
    fileprivate var isWritable: Bool { ArchivedRecord.writable.contains(start) }
}

extension RecordObservations.Origin {
    fileprivate static let share = FHIRCoding.bytes(ofUnit: "1", code: "1")

    fileprivate init(
        _ origin: RecordOrigin, type: String, _ recipient: Recipient, _ devices: FHIRDevices
    ) {
        let type = origin.type ?? type
        let coding = FHIRCoding(type: type, unit: origin.unit)
        let isWorkout = type == "Workout"
        let subject = recipient.patient.subject
        let members: JSON = [
            "status": "final",
            "category": FHIRCoding.categories(
                [coding.category].compactMap(\.self), isPhysicalActivity: isWorkout),
            "code": FHIRCoding.concept(
                coding.loinc, type: type, text: ArchivedType.shortName(of: type)),
            "subject": subject,
            // A performer is a person or an organisation: the app and the device are the `device`.
            "performer": isWorkout && recipient.patient != nil ? [subject] : .null,
            "device": devices.reference(to: origin),
        ]
        head = Array(members.withoutNulls.bytes.dropFirst().dropLast())
        profile = Array(
            (coding.profile.map {
                #""meta":{"profile":["http://hl7.org/fhir/StructureDefinition/\#($0)"]},"#
            } ?? "").utf8)
        unit = FHIRCoding.bytes(ofUnit: origin.unit, code: coding.unit)
        isPercentage = type.hasPrefix("HK") && origin.unit == "%"
    }
}

extension RecordObservations.Word {
    /// Returns the member with the value; of a number what precedes its unit.
    fileprivate init(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        isNumber = FHIRCoding.isCode(text) && FHIRCoding.isNumber(bytes)
        if isNumber {
            self.bytes = Array(#","valueQuantity":{"value":"#.utf8) + bytes
        } else if FHIRCoding.isBlank(text) {
            self.bytes = []
        } else {
            let coding: JSON = ["system": FHIRCoding.healthKit, "code": .string(text)]
            let value: JSON =
                text.hasPrefix("HK") && FHIRCoding.isCode(text)
                ? ["valueCodeableConcept": ["coding": [coding]]] : ["valueString": .string(text)]
            self.bytes = [UInt8(ascii: ",")] + value.bytes.dropFirst().dropLast()
        }
    }
}
