"""What the server counts, for Prometheus."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from assay.errors import require
from assay.types import Outcome, RewardOutput

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
REWARDS = tuple(i / 10 for i in range(11))


class Metrics:
    """The server's own registry, so that several in one process do not meet."""

    def __init__(self) -> None:
        self._prometheus = prometheus = require("prometheus_client", "serve", "the reward server's metrics")
        self.registry = prometheus.CollectorRegistry()
        here = {"registry": self.registry}
        self._requests = prometheus.Counter(
            "assay_requests", "Requests by path and status.", ["path", "status"], **here
        )
        self._seconds = prometheus.Histogram("assay_request_seconds", "Seconds a request.", buckets=SECONDS, **here)
        self._rows = prometheus.Counter("assay_rows", "Rows by how their scoring ended.", ["outcome"], **here)
        self._rewards = prometheus.Histogram("assay_reward", "Rewards given.", buckets=REWARDS, **here)
        self._waiting = prometheus.Gauge("assay_waiting_rows", "Rows in the queue.", **here)
        # looking a label up costs more than counting
        self._request_of = functools.cache(self._labelled_request)
        self._rows_of = functools.cache(self._labelled_rows)

    def _labelled_request(self, path: str, status: int) -> Any:
        return self._requests.labels(path, str(status))

    def _labelled_rows(self, outcome: Outcome) -> Any:
        return self._rows.labels(str(outcome))

    def request(self, path: str, status: int, seconds: float) -> None:
        """One request was answered."""
        self._request_of(path, status).inc()
        self._seconds.observe(seconds)

    def rows(self, outputs: Sequence[RewardOutput]) -> None:
        """Rows were scored, or not."""
        for output in outputs:
            self._rows_of(output.outcome).inc()
            if output.reward is not None:
                self._rewards.observe(output.reward)

    def text(self, waiting_rows: int) -> bytes:
        """The page that Prometheus reads."""
        self._waiting.set(waiting_rows)
        return self._prometheus.generate_latest(self.registry)
