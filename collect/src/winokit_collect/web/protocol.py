"""HTTP protocol for uvicorn that closes connections whose requests take too long."""

from asyncio import TimerHandle, Transport

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0
"""Seconds for a whole request of at most 64 KiB, or for an idle connection."""


class ImpatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a time limit for each request.

    Without it, uvicorn waits for the rest of a request for ever.
    """

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the time limit of a new connection."""
        super().connection_made(transport)
        self._update_deadline()

    def data_received(self, data: bytes) -> None:
        """Receive part of a request, which does not extend the time limit."""
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """Start a time limit if the next request has begun to arrive."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._update_deadline()

    def _update_deadline(self) -> None:
        """Start the time limit while a request is incomplete, else stop it.

        A connection without a request counts as incomplete.
        """
        waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if waits and self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS, self.transport.close)
        elif not waits and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
