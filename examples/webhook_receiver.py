"""A receiver for the messages of a live service, which prints what it is told. It needs nothing but Python.

WEBHOOK_SECRET=whsec_... python examples/webhook_receiver.py 9000
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
SEEN = set()  # in earnest: in a database, for as long as a sender tries again


def is_genuine(headers, body):
    """Was it signed with the secret, within the last five minutes?"""
    message, at, given = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not at.isdecimal() or abs(time.time() - int(at)) > 300:
        return False
    digest = hmac.new(KEY, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    return any(hmac.compare_digest(one.encode(), expected) for one in given.split())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers["Content-Length"]), 100_000))
        genuine = is_genuine(self.headers, body)
        if genuine and self.headers["webhook-id"] not in SEEN:  # the same may come twice
            told = json.loads(body)
            print(told["type"], told["data"].get("name", ""), told["data"].get("arm", ""), flush=True)
            SEEN.add(self.headers["webhook-id"])
        self.send_response(204 if genuine else 401)
        self.end_headers()


with HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver) as server:
    print(f"Listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
