"""relay.py FOLDER SERVER: passes on what programs and a PostgreSQL server send each other.

Both folders are of Unix sockets. While the relay is stopped by a signal, nothing passes, and
neither side is told.
"""
import socket
import sys
import threading

NAME = ".s.PGSQL.5432"


def pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass  # The other side has ended the connection.
    for side in (source, target):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It is ended already.


listener = socket.socket(socket.AF_UNIX)
listener.bind(f"{sys.argv[1]}/{NAME}")
listener.listen(64)
while True:
    client, _ = listener.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(f"{sys.argv[2]}/{NAME}")
    for pair in ((client, server), (server, client)):
        threading.Thread(target=pass_on, args=pair, daemon=True).start()
