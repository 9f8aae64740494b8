"""What app.mjs does, with the Python packages."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rows import ROWS

PUBLIC_URL = sys.argv[1]


def known(row):
    return {
        "name": row.name,
        "provider": row.provider,
        "secret": row.secret,
        "sign_secret": getattr(row, "sign_secret", None),
        "settings": "",
    }


def sign(row):
    """An event as its sender would send it now."""
    target = f"/hooks/{row.name}"
    seal = row.sign(int(time.time()), PUBLIC_URL + target)
    return {
        "target": target,
        "headers": list((row.headers | seal).items()),
        "body": row.body,
        "sealed_by_sender": list(seal),
        "sealed_for_app": getattr(row, "sealed", list(seal)),
    }


def judge(row, target, headers, body):
    """What the row's package says; a package that raises says no."""
    try:
        said = row.verify(body, headers, PUBLIC_URL + target)
        return bool(said), str(said)
    except Exception as error:
        return False, repr(error)


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        _, what, name = self.path.split("/")
        row = next(row for row in ROWS if row.name == name)
        if what == "sign":
            self.answer(200, sign(row))
            return
        genuine, said = judge(row, self.path, self.headers, body)
        copy = {"headers": self.headers.items(), "body": body.decode()}
        self.answer(200 if genuine else 403, {"said": said, "copy": copy})

    def answer(self, status, value):
        answer = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), App)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"port": server.server_port, "rows": [known(row) for row in ROWS]}), flush=True)
sys.stdin.read()
