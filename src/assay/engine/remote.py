"""Rewards in worker processes: what is sent, what comes back, and what a worker that dies stands for.

Rows go out pickled; outputs come back as plain data that is read without importing anything, so that what runs in a
worker has no way into this process but numbers and text.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from assay.contract import Per
from assay.engine.boundary import Boundary, NeedsLoop
from assay.engine.leaf import Leaf, context_of
from assay.errors import WrongOutput
from assay.loop import drive, run
from assay.pool import Death, Quarantine, Task
from assay.returned import failure
from assay.reward import RewardFunction, call_of
from assay.types import Outcome, RewardOutput, Trajectory

_loads: Final = pickle.loads  # bound here, for a reward may write over it
FACTORY: Final = "assay.engine.remote:handler"
MOST_SAID: Final = 64 << 20
"""Bytes of the outputs of one call that a worker sends."""
in_worker = False
"""Whether this process is one of our workers: rewards called in here start no workers of their own."""


# -- in the worker ---------------------------------------------------------------------------------------------------


def handler(rewards: Sequence[RewardFunction]) -> Callable[[bytes, int], bytes]:
    """What a worker runs: rows' bytes and the number of a reward in, its outputs' bytes out."""
    global in_worker
    in_worker = True
    calls = [call_of(reward) for reward in rewards]
    contexts: dict[int | None, dict[str, Any]] = {}
    logged: list[tuple[str, str, Any]] = []

    def handle(payload: bytes, leg: int) -> bytes:
        rows, step = _loads(payload)
        if step not in contexts:
            contexts.clear()
            contexts[step] = context_of(step, _noting(logged))
        leaf = Leaf(rewards[leg], calls[leg], [Trajectory(*row) for row in rows], contexts[step])
        try:
            outputs = drive(leaf.score()) if not calls[leg].is_async else run(leaf.score())
        except NeedsLoop:
            outputs = run(leaf.score())
        with (boundary := Boundary()):
            said = encode(outputs, logged)
            if len(said) <= MOST_SAID:
                return said
            logged.clear()
            raise WrongOutput(
                f"reward {rewards[leg].name!r} returned outputs of {len(said):,} bytes; needed at most {MOST_SAID:,}. "
                f"Put less into their metadata."
            )
        return encode([failure(boundary.error, rewards[leg].name) for _ in outputs])

    return handle


def _noting(logged: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """A trainer's loggers, as a reward in a worker sees them: what it says is told to the real ones."""

    def log_extra(column: str, values: Sequence[Any]) -> None:
        logged.append(("log_extra", column, list(values)))

    def log_metric(name: str, value: float) -> None:
        logged.append(("log_metric", name, value))

    return {"log_extra": log_extra, "log_metric": log_metric}


# -- rows and outputs as bytes ---------------------------------------------------------------------------------------


def encode_rows(rows: Sequence[Trajectory], step: int | None) -> bytes:
    """Rows for a worker."""
    plain = [(t.prompt, t.response, t.messages, t.ground_truth, t.metadata, t.group, t.tokens) for t in rows]
    return pickle.dumps((plain, step), protocol=5)


def encode(outputs: Sequence[RewardOutput], logged: list[tuple[str, str, Any]] | None = None) -> bytes:
    """Outputs from a worker, as plain data, and what the reward logged for the trainer."""
    said = write_plain(([_plain(output) for output in outputs], logged or None))
    if logged:
        logged.clear()
    return said


def write_plain(value: Any) -> bytes:
    """Plain data as bytes; what is no plain data becomes text."""
    file = io.BytesIO()
    _PlainPickler(file, protocol=5).dump(value)
    return file.getvalue()


def read_plain(data: bytes) -> Any:
    """What `write_plain` wrote; anything but plain data is refused."""
    return _PlainUnpickler(io.BytesIO(data)).load()


def decode(data: bytes, context: Mapping[str, Any] | None = None) -> list[RewardOutput]:
    """Outputs that a worker sent. Nothing but plain data is accepted. What was logged goes to the context's loggers."""
    values, logged = read_plain(data)
    for logger, name, value in logged or ():
        if logger in ("log_extra", "log_metric") and context and (log := context.get(logger)) is not None:
            log(name, value)
    return [_output(value) for value in values]


def _plain(o: RewardOutput) -> tuple[Any, ...]:
    parts = {name: _plain(part) for name, part in o.components.items()} if o.components else None
    return o.reward, o.outcome.value, o.seconds, o.error, o.metadata or None, o.token_rewards or None, parts


def _output(value: Any) -> RewardOutput:
    reward, outcome, seconds, error, metadata, tokens, parts = value
    components = {name: _output(part) for name, part in parts.items()} if parts else {}
    return RewardOutput(reward, tokens or [], metadata or {}, components, Outcome(outcome), error, seconds)


_KINDS: Final[tuple[Any, ...]] = (str, bool, int, float, complex, list, tuple, dict, set, frozenset)
_PLAIN_GLOBALS: Final = {("builtins", kind.__name__): kind for kind in _KINDS}


class _PlainPickler(pickle.Pickler):
    """Numbers of other libraries become numbers, everything else that is not plain data its text."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type):
            return NotImplemented if obj in _KINDS else (str, (obj.__qualname__,))
        if hasattr(obj, "tolist"):  # arrays, tensors and their scalars
            value = obj.tolist()
            return list if isinstance(value, list) else type(value), (value,)
        for kind in _KINDS:  # subclasses: enumerations, named tuples
            if isinstance(obj, kind):
                return kind, (kind(obj),)
        return str, (repr(obj)[:2000],)


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _PLAIN_GLOBALS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"a worker sent {module}.{name}, which is no plain data") from None


# -- in this process -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Order:
    """One call of one reward that is to run in a worker: its rows, and where the outputs go."""

    reward: RewardFunction
    leg: int
    rows: Sequence[int]
    """The numbers of its rows in the batch."""
    limit: float | None
    """Seconds a trajectory."""


def tasks_of(
    orders: Sequence[Order], trajectories: Sequence[Trajectory], step: int | None
) -> list[tuple[Task, list[Order]]]:
    """Orders for the same rows travel as one task, so that a row is sent once for all its rewards."""
    together: dict[tuple[int, ...], list[Order]] = {}
    for order in orders:
        together.setdefault(tuple(order.rows), []).append(order)
    tasks: list[tuple[Task, list[Order]]] = []
    for numbers, same in together.items():
        limits = {o.leg: None if o.limit is None else o.limit * len(numbers) for o in same}
        tasks.append((Task(_payload([trajectories[i] for i in numbers], step), limits), same))
    return tasks


def _payload(rows: Sequence[Trajectory], step: int | None) -> Callable[[], bytes | Death]:
    def make() -> bytes | Death:
        with (boundary := Boundary()):
            return encode_rows(rows, step)
        return Death("unsendable", f"the row cannot be sent to a worker process: {boundary.error}")

    return make


def read(
    reply: bytes | Death, order: Order, rows: Sequence[Trajectory], quarantine: Quarantine, context: Any = None
) -> list[RewardOutput]:
    """What came of an order, as outputs: a number for each row, or what its worker died of."""
    if isinstance(reply, Death):
        return _mourn(reply, order, rows, quarantine)
    with (boundary := Boundary()):
        outputs = decode(reply, context)
        if len(outputs) == len(rows):
            return outputs
    why = f"reward {order.reward.name!r}: its worker sent what cannot be read: {boundary.error}"
    return [RewardOutput.failed(Outcome.GRADER_ERROR, why) for _ in rows]


_OUTCOMES: Final = {"timeout": Outcome.TIMEOUT, "infra": Outcome.INFRA_ERROR}


def _mourn(death: Death, order: Order, rows: Sequence[Trajectory], quarantine: Quarantine) -> list[RewardOutput]:
    name, metadata = order.reward.name, dict[str, Any]()
    if death.kind == "timeout":
        limit = (order.limit or 0.0) * len(rows)
        of_all = f" ({order.limit} s for each of {len(rows)} rows)" if len(rows) > 1 else ""
        why = f"reward {name!r} was stopped at its deadline of {limit:g} s{of_all}, and its worker replaced."
    else:
        why = f"reward {name!r}: {death.reason}"
    if death.kind in ("timeout", "memory", "died"):
        where = quarantine.put(name, why, [_as_json(t) for t in rows])
        metadata = {"quarantined": where} if where else {}
    outcome = _OUTCOMES.get(death.kind, Outcome.GRADER_ERROR)
    share = death.seconds / len(rows)
    return [RewardOutput(None, [], dict(metadata), {}, outcome, why, share) for _ in rows]


def _as_json(t: Trajectory) -> dict[str, Any]:
    row: dict[str, Any] = {"messages": list(t.messages)} if t.messages else {"prompt": t.prompt, "response": t.response}
    return row | {"ground_truth": t.ground_truth, "group": t.group, "metadata": t.metadata}


def can_be_halved(order: Order, reply: bytes | Death) -> bool:
    """Whether a batch killed its worker, and smaller ones would tell which row it was."""
    per = call_of(order.reward).per
    return isinstance(reply, Death) and reply.kind != "infra" and per is Per.BATCH and len(order.rows) > 1


def halves(order: Order) -> list[Order]:
    """The same order as two."""
    middle = len(order.rows) // 2
    return [replace(order, rows=part) for part in (order.rows[:middle], order.rows[middle:])]
