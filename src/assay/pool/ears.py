"""What the pool's own thread listens to: the descriptors of its workers, and what other threads want of it."""

from __future__ import annotations

import contextlib
import os
import select
from collections import deque
from collections.abc import Callable

Hears = Callable[[int], None]
"""Called with the event: EPOLLIN, EPOLLOUT, EPOLLHUP ..."""


class Ears:
    """One thread listens (`attend`); any thread may `post` what that one is to do."""

    def __init__(self) -> None:
        self._inbox: deque[Callable[[], None]] = deque()
        self._ear, self._mouth = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.epoll()
        self._on: dict[int, Hears] = {}
        self.listen(self._ear, lambda event: self.obey())

    def post(self, what: Callable[[], None]) -> None:
        """Have the listening thread do something. From any thread."""
        self._inbox.append(what)
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._mouth, b"!")

    def listen(self, fd: int, on: Hears) -> None:
        """From now on its news are told to `on`."""
        self._on[fd] = on
        self._poll.register(fd, select.EPOLLIN)

    def expect(self, fd: int, events: int) -> None:
        """Which news of it are wanted."""
        self._poll.modify(fd, events)

    def deaf(self, fd: int) -> None:
        """No more of it."""
        if self._on.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def attend(self, seconds: float) -> None:
        """Hear what there is to hear, or wait so long for it; -1 is for ever."""
        news = [(fd, event, self._on.get(fd)) for fd, event in self._poll.poll(seconds)]
        for fd, event, on in news:
            # an event before this one may have closed the descriptor, and opened another of the same number
            if on is not None and self._on.get(fd) is on:
                on(event)

    def obey(self) -> None:
        """Do what was posted."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._ear, 4096)
        while self._inbox:
            self._inbox.popleft()()

    def close(self) -> None:
        """Hear nothing any more; what is posted later stays undone."""
        self._poll.close()
        mouth, self._mouth = self._mouth, -1
        os.close(mouth)
        os.close(self._ear)
