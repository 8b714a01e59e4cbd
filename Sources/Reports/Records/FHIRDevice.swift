import HealthStore
import JSON

/// The Devices that Observations refer to: what measured a record, and the app through which it
/// came, which are one source (hl7.org/fhir/R4/device.html counts software among devices).
///
/// An Observation has one `device`, and its `performer` is a person or an organisation. So the app
/// and its version stand in the Device, and no extension is needed for them.
struct FHIRDevices {
    private let recipient: Recipient
    private let hash: KeyedHash

    init(_ recipient: Recipient) {
        self.recipient = recipient
        hash = KeyedHash(of: "FHIR devices", in: recipient.store)
    }

    /// Returns the id of the Device of an origin; `nil` if it names neither an app nor a device.
    func id(of origin: RecordOrigin) -> FHIRID? {
        let key = RecordOrigin(
            source: origin.source, version: origin.version,
            device: origin.device.map { DeviceText($0).key })
        let isNamed = [key.source, key.version, key.device].contains {
            $0.map { !FHIRCoding.isBlank($0) } ?? false
        }
        return isNamed ? hash.id(of: key.bytes) : nil
    }

    /// Returns the reference to it.
    func reference(to origin: RecordOrigin) -> JSON {
        guard let id = id(of: origin) else { return .null }
        let display = origin.source ?? origin.device.flatMap { DeviceText($0).name } ?? ""
        let members: JSON = [
            "reference": recipient.hasDevices ? .string("Device/\(id.text)") : .null,
            "display": FHIRCoding.isBlank(display) ? .null : .string(display),
        ]
        return members.withoutNulls
    }

    /// Returns the resources of origins, each once and in the order of their ids.
    func resources(of origins: Set<[UInt8]>) -> [(id: FHIRID, bytes: [UInt8])] {
        var found: [FHIRID: RecordOrigin] = [:]
        for bytes in origins.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let origin = RecordOrigin(bytes)
            if let id = id(of: origin), found[id] == nil { found[id] = origin }
        }
        return found.sorted { $0.key < $1.key }.map { ($0.key, resource($0.key, $0.value)) }
    }

    private func resource(_ id: FHIRID, _ origin: RecordOrigin) -> [UInt8] {
        let device = origin.device.map { DeviceText($0) }
        func text(_ value: String?) -> JSON {
            value.flatMap { FHIRCoding.isBlank($0) ? nil : .string($0) } ?? .null
        }
        func list(_ members: [JSON]) -> JSON {
            let known = members.filter { ($0["value"] ?? $0["name"] ?? $0["text"]) != .null }
            return known.isEmpty ? .null : .array(known)
        }
        var versions = ["hardware", "firmware", "software"].map { name -> JSON in
            ["type": ["text": .string(name)], "value": text(device?[name])]
        }
        versions.append(["type": ["text": "source"], "value": text(origin.version)])
        let notes = (device?.others ?? []).map { name, value -> JSON in
            ["text": .string("\(name): \(value)")]
        }
        let members: JSON = [
            "resourceType": "Device", "id": .string(id.text),
            "manufacturer": text(device?["manufacturer"]),
            "deviceName": list([
                ["name": text(origin.source), "type": "user-friendly-name"],
                ["name": text(device?.name), "type": "model-name"],
            ]),
            "modelNumber": text(device?["model"]),
            "version": list(versions),
            "patient": recipient.patient == nil ? .null : recipient.patient.subject,
            "note": list(notes),
        ]
        return members.withoutNulls.bytes
    }
}

/// A device as HealthKit describes it: `<<HKDevice: >, name:Apple Watch, manufacturer:Apple Inc.,
/// model:Watch, hardware:Watch7,1, software:12.1, creation date:2024-08-24 17:12:03 +0000>`. Any
/// other text is a name.
private struct DeviceText {
    let name: String?
    /// The fields with a place of their own in a Device.
    private static let placed: Set<String> = [
        "manufacturer", "model", "hardware", "firmware", "software",
    ]
    private let fields: [(name: String, value: String)]
    /// What tells it from others: without the address in the memory of the phone, and without the
    /// date, both of which another export has otherwise.
    let key: String

    init(_ text: String) {
        guard text.hasPrefix("<<HKDevice:"), let end = text.firstIndex(of: ">") else {
            (name, fields, key) = (text, [], text)
            return
        }
        var fields: [(name: String, value: String)] = []
        var rest = text[text.index(after: end)...].drop { $0 == "," || $0 == " " }
        if rest.hasSuffix(">") { rest = rest.dropLast() }
        for part in rest.split(separator: ", ", omittingEmptySubsequences: false) {
            // A comma may be part of a value: what has no colon after letters goes on with it.
            let name = part.prefix { $0 != ":" }
            let isField = name.count < part.count && name.allSatisfy { $0.isLetter || $0 == " " }
            if isField {
                fields.append((String(name), String(part.dropFirst(name.count + 1))))
            } else if !fields.isEmpty {
                fields[fields.count - 1].value += ", \(part)"
            }
        }
        fields.removeAll { $0.name == "creation date" }
        self.fields = fields
        name = fields.first { $0.name == "name" }?.value
        key = fields.map { "\($0.name):\($0.value)" }.joined(separator: ", ")
    }

    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The fields for which a Device has no place.
    var others: [(name: String, value: String)] {
        fields.filter { $0.name != "name" && !DeviceText.placed.contains($0.name) }
    }
}
