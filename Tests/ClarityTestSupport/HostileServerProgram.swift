extension HostileServer {
    /// The server. Its arguments are a certificate, its key, the newest TLS version and a number of
    /// streams.
    static let program = """
        import gzip, hashlib, select, socket, ssl, sys, threading

        certificate, key, newest, streams = sys.argv[1:5]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if newest == "1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if int(streams):
            context.set_alpn_protocols(["h2", "http/1.1"])
        lock = threading.Lock()

        def say(text):
            with lock:
                print(text, flush=True)

        class Gone(Exception):
            pass

        class Connection:
            def __init__(self, tls, number):
                self.tls, self.number, self.held, self.requests = tls, number, b"", 0

            def take(self, count):
                while len(self.held) < count:
                    self.more()
                piece, self.held = self.held[:count], self.held[count:]
                return piece

            def more(self):
                piece = self.tls.recv(1 << 16)
                if not piece:
                    raise Gone
                self.held += piece

            def send(self, data):
                self.tls.sendall(data)

            def answer(self, body, status="200 OK", *fields):
                lines = ["HTTP/1.1 " + status, "Content-Length: %d" % len(body), *fields, "", ""]
                self.send("\\r\\n".join(lines).encode() + body)

            def head(self, *fields):
                self.send("\\r\\n".join(["HTTP/1.1 200 OK", *fields, "", ""]).encode())

            def wait_for_end(self):
                try:
                    while True:
                        self.more()
                except (OSError, Gone):
                    raise Gone

            def http1(self):
                while True:
                    while b"\\r\\n\\r\\n" not in self.held:
                        self.more()
                    head, self.held = self.held.split(b"\\r\\n\\r\\n", 1)
                    lines = head.decode().split("\\r\\n")
                    method, path, _ = lines[0].split(" ")
                    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
                    plain = dict(line.split(": ", 1) for line in lines[1:])
                    body = self.take(int(fields.get("content-length", 0)))
                    self.requests += 1
                    if path != "/quiet":
                        token = plain.get("Authorization", "-")
                        say("request %d %s %s %s" % (self.number, method, path, token))
                    self.play(path, body)

            def play(self, path, body):
                if path.startswith("/ok"):
                    self.answer(b"{}")
                elif path == "/quiet":
                    self.answer(b" " * 4096)
                elif path == "/digest":
                    self.answer(hashlib.sha256(body).hexdigest().encode())
                elif path.startswith("/redirect/"):
                    port = path.rsplit("/", 1)[1]
                    self.answer(b"", "307 Moved", "Location: http://127.0.0.1:%s/" % port)
                elif path == "/endless":
                    self.head("Content-Type: application/json")
                    while True:
                        self.send(b" " * (1 << 16))
                elif path == "/announced":
                    self.head("Content-Length: 10737418240")
                    while True:
                        self.send(b" " * (1 << 16))
                elif path == "/drip":
                    self.head("Content-Length: 100")
                    while True:
                        self.send(b" ")
                        if select.select([self.tls], [], [], 60)[0]:
                            self.wait_for_end()
                elif path == "/cut":
                    self.head("Content-Length: 100")
                    self.send(b"{")
                    raise Gone
                elif path == "/cut-cleanly":
                    self.head("Content-Length: 100")
                    self.send(b"{")
                    self.tls.unwrap()
                    raise Gone
                elif path == "/gzip":
                    self.answer(gzip.compress(b"[1]"), "200 OK", "Content-Encoding: gzip")
                elif path == "/no-gzip":
                    self.answer(b"this is no gzip", "200 OK", "Content-Encoding: gzip")
                elif path == "/other-encoding":
                    self.answer(b"what", "200 OK", "Content-Encoding: marrow")
                elif path == "/bomb":
                    bomb = gzip.compress(bytes(50_000_000))
                    self.answer(bomb, "200 OK", "Content-Encoding: gzip")
                elif path == "/heads":
                    self.send(b"HTTP/1.1 200 OK\\r\\n")
                    while True:
                        self.send(b"X-Filler: " + b"x" * 1000 + b"\\r\\n")
                elif path == "/interim":
                    while True:
                        self.send(b"HTTP/1.1 103 Early Hints\\r\\n\\r\\n" * 100)
                elif path == "/line":
                    self.send(b"HTTP/1.1 200 OK\\r\\nX-Filler: ")
                    while True:
                        self.send(b"x" * (1 << 16))
                elif path == "/close":
                    self.answer(b"{}")
                    raise Gone
                elif path == "/once":
                    if self.requests > 1:
                        raise Gone
                    self.answer(hashlib.sha256(body).hexdigest().encode())
                else:
                    self.wait_for_end()

            def http2(self):
                self.take(24)
                self.frame(4, 0, 0, b"")
                waiting = []
                while True:
                    head = self.take(9)
                    kind, flags = head[3], head[4]
                    stream = int.from_bytes(head[5:], "big")
                    self.take(int.from_bytes(head[:3], "big"))
                    if kind == 4 and not flags & 1:
                        self.frame(4, 1, 0, b"")
                    if kind in (0, 1) and flags & 1:
                        say("stream %d %d" % (self.number, stream))
                        waiting.append(stream)
                    if len(waiting) == int(streams):
                        for each in waiting:
                            # 0x88 is `:status: 200` in HPACK's table, RFC 7541.
                            self.frame(1, 4, each, b"\\x88")
                            self.frame(0, 1, each, b"{}")
                        waiting = []

            def frame(self, kind, flags, stream, payload):
                head = len(payload).to_bytes(3, "big") + bytes([kind, flags])
                self.send(head + stream.to_bytes(4, "big") + payload)

        def serve(plain, number):
            say("connected %d" % number)
            try:
                tls = context.wrap_socket(plain, server_side=True)
            except OSError:
                plain.close()
                say("refused %d" % number)
                return
            connection = Connection(tls, number)
            try:
                if tls.selected_alpn_protocol() == "h2":
                    connection.http2()
                else:
                    connection.http1()
            except (OSError, Gone):
                pass
            tls.close()
            say("closed %d" % number)

        listener = socket.create_server(("127.0.0.1", 0))
        threads = []

        def accept():
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                thread = threading.Thread(target=serve, args=(plain, len(threads) + 1))
                threads.append(thread)
                thread.start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        say(listener.getsockname()[1])
        sys.stdin.read()
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for thread in threads:
            thread.join()
        """
}
