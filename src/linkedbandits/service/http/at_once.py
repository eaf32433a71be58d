"""A small whole answer, written to the connection at once.

uvicorn looks at every header of every answer, and writes head and body apart. For the short answers that nearly all
requests get, that takes longer than all that this service does for them on its event loop. So those whose headers are
known to be sound are put together here. Any other web server, and any other answer, gets the messages of ASGI.
"""

from __future__ import annotations

from starlette.types import Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle


def write_at_once(send: Send, status: int, lines: bytes, body: bytes) -> bool:
    """Answer the request whose ``send`` this is; ``lines`` are all headers but the length and the server's own.

    False if that cannot be done here, and nothing was written then.
    """
    cycle = getattr(send, "__self__", None)
    if (
        type(cycle) is not RequestResponseCycle
        or cycle.response_started
        or cycle.disconnected
        or not cycle.keep_alive
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    own = b"".join([b"%b: %b\r\n" % header for header in cycle.default_headers])
    cycle.waiting_for_100_continue = False
    cycle.response_started = cycle.response_complete = True
    cycle.transport.write(b"%b%b%bcontent-length: %d\r\n\r\n%b" % (STATUS_LINE[status], own, lines, len(body), body))
    cycle.message_event.set()
    cycle.on_response()
    return True
