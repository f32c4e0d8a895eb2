"""HTTP over h11, from people who send what they have to say: whoever takes too long over a request is hung up on."""

from asyncio import TimerHandle, Transport

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0
"""For a whole request, head and body, of 64 KiB at most; and for a connection over which nothing is asked."""


class ImpatientProtocol(H11Protocol):
    """uvicorn's protocol, which by itself waits for the rest of a request as long as somebody keeps it waiting."""

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Somebody is there, and should say what they want."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A piece of a request; it does not buy more time."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """An answer is sent; of the next request a part may be there, with nothing more to come."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def _watch(self) -> None:
        """Start the clock where a request is to come, or to go on; stop it where one is whole."""
        waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if waits and self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS, self.transport.close)
        elif not waits and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
