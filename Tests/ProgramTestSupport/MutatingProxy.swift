import ClarityTestSupport
import Testing

/// A fault of the client that a proof has to find.
enum ClientMutation: String, CaseIterable, Sendable {
    /// Each upload reaches the backend twice on one connection, and the client sees one answer.
    case sendsTwice
    /// No upload reaches the backend, and the client counts all its samples as delivered.
    case confirmsUnsent
}

/// A proxy in front of the sandbox that makes a sound client look faulty.
///
/// It forwards all other requests, on one connection for each connection of the client.
final class MutatingProxy: Sendable {
    let url: String
    private let program: ChildProgram

    init(_ mutation: ClientMutation, port: UInt16) async throws {
        program = try ChildProgram(
            "/usr/bin/env", ["python3", "-c", Self.text, mutation.rawValue, "\(port)"],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
        let own = try #require(await program.readLine(), "the proxy did not start")
        url = "http://127.0.0.1:\(own)/api/v1"
    }

    private static let text = #"""
        import http.client, http.server, json, os, sys, threading, uuid

        mutation, port = sys.argv[1], int(sys.argv[2])
        now = "2026-11-01T00:00:00Z"

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                self.backend = http.client.HTTPConnection("127.0.0.1", port)

            def finish(self):
                self.backend.close()
                super().finish()

            def log_message(self, *words): pass

            def forward(self, body):
                self.backend.request(self.command, self.path, body, dict(self.headers))
                answer = self.backend.getresponse()
                return answer.status, answer.getheaders(), answer.read()

            def made_up(self, status, answer):
                return status, [("Content-Type", "application/json")], json.dumps(answer).encode()

            def accept(self, body):
                sent = json.loads(body)
                metrics = sent.get("metrics")
                if metrics is None:
                    kinds = "quantity_samples", "category_samples", "workouts", "correlation_samples"
                    return self.made_up(202, {
                        "upload_id": sent["user_id"] + "-" + uuid.uuid4().hex, "status": "queued",
                        "queued_at": now, "message": "queued",
                        "samples_received": {kind: len(sent.get(kind) or []) for kind in kinds}})
                return self.made_up(201, {
                    "processing_id": str(uuid.uuid4()), "status": "received",
                    "accepted_metrics": len(metrics), "rejected_metrics": 0,
                    "validation_errors": [], "message": "accepted", "timestamp": now})

            def completed(self):
                name = self.path.rsplit("/", 1)[1]
                return self.made_up(200, {
                    "processing_id": name, "upload_id": name, "status": "completed",
                    "progress": 1 if "/healthkit/" in self.path else 100, "message": "done",
                    "last_updated": now, "created_at": now, "updated_at": now})

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path.rstrip("/")
                is_upload = self.command == "POST" and (
                    path.endswith("/health-data/upload") or path.endswith("/healthkit"))
                is_status = "/health-data/processing/" in path or "/healthkit/status/" in path
                if mutation == "confirmsUnsent" and is_upload:
                    status, headers, answer = self.accept(body)
                elif mutation == "confirmsUnsent" and is_status:
                    status, headers, answer = self.completed()
                else:
                    if mutation == "sendsTwice" and is_upload: first = self.forward(body)
                    status, headers, answer = self.forward(body)
                    if mutation == "sendsTwice" and is_upload: status, headers, answer = first
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            # A client that was killed is none of this server's faults.
            def handle_error(self, *words): pass

        server = Server(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        # It ends with whoever started it.
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        server.serve_forever()
        """#
}
