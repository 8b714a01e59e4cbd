/// A certificate authority for a test, created with `openssl` in a temporary folder.
public final class TestAuthority: Sendable {
    /// The certificate and the key of a server.
    public struct Identity: Sendable {
        /// The files of the certificate and of its key.
        public var certificate: String
        public var key: String
        /// The key's pin, `sha256//...`.
        public var pin: String
    }

    /// A failure of `openssl`.
    public struct Failure: Error, CustomStringConvertible {
        public var description: String
    }

    private let folder: TemporaryFolder

    /// The file with the authority's own certificate.
    public var certificate: String { "\(folder.path)/authority.pem" }

    /// Creates an authority whose certificate is valid for two days.
    public init() async throws {
        folder = try TemporaryFolder()
        try folder.write("openssl.cnf", TestAuthority.configuration.utf8)
        try await run(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out authority.key
            openssl req -x509 -new -key authority.key -config openssl.cnf -extensions authority \
                -days 2 -out authority.pem
            """)
    }

    /// Creates a key and a certificate that the authority signs.
    ///
    /// - Parameters:
    ///   - name: the name of the files, different for each identity.
    ///   - subject: the section of the configuration with the subject: `loopback` or `other`.
    ///   - days: how long the certificate is valid; -1 for a certificate that expired yesterday.
    public func identity(
        _ name: String, subject: String = "loopback", days: Int = 2
    ) async throws -> Identity {
        let pin = try await run(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out \(name).key
            openssl req -new -key \(name).key -config openssl.cnf -out \(name).csr
            openssl x509 -req -in \(name).csr -CA authority.pem -CAkey authority.key \
                -set_serial 2 -days \(days) -extfile openssl.cnf -extensions \(subject) \
                -out \(name).pem
            openssl pkey -in \(name).key -pubout -outform DER | openssl dgst -sha256 -binary \
                | openssl base64
            """)
        return Identity(
            certificate: "\(folder.path)/\(name).pem", key: "\(folder.path)/\(name).key",
            pin: "sha256//\(pin)")
    }

    /// Writes another file beside the certificates and returns its path.
    public func write(_ name: String, _ text: String) throws -> String {
        try folder.write(name, text.utf8)
    }

    /// Runs an `sh` script in the folder and returns the last line of its output.
    @discardableResult
    private func run(_ script: String) async throws -> String {
        let result = try await ChildProgram.run(
            "/bin/sh", ["-ec", "cd \"$0\"\n\(script)", folder.path],
            environment: HostileServer.environment)
        guard result.status == 0 else { throw Failure(description: result.errors) }
        return result.outputLines.last ?? ""
    }

    private static let configuration = """
        [req]
        distinguished_name = name
        prompt = no
        [name]
        CN = clarity test
        [authority]
        basicConstraints = critical,CA:true
        keyUsage = critical,keyCertSign
        [loopback]
        subjectAltName = IP:127.0.0.1
        [other]
        subjectAltName = DNS:other.example

        """
}
