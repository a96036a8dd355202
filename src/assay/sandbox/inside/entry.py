"""The function that the tests call: where it is found, what it is given, and what it comes to.

Imports nothing of ours: its text goes also to services and into WebAssembly, where none of ours is (see `standalone`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any

JUDGES_NAMES = {
    "typing": ("List", "Dict", "Optional", "Tuple", "Set", "Union", "Any", "Callable", "Iterable", "Iterator", "Deque"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "functools": ("cache", "cmp_to_key", "lru_cache", "reduce"),
    "itertools": ("accumulate", "chain", "combinations", "count", "groupby", "pairwise", "permutations", "product"),
    "heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest"),
    "bisect": ("bisect", "bisect_left", "bisect_right", "insort"),
    "math": ("ceil", "comb", "floor", "gcd", "inf", "isqrt", "log2", "sqrt"),
    "string": ("ascii_lowercase", "ascii_uppercase"),
}
MODULES = ("bisect", "collections", "functools", "heapq", "itertools", "math", "random", "re", "string", "typing")


class ListNode:
    """A link of a list, as such judges give it."""

    def __init__(self, val: Any = 0, next: Any = None) -> None:
        self.val, self.next = val, next


class TreeNode:
    """A node of a binary tree, as such judges give it."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None) -> None:
        self.val, self.left, self.right = val, left, right


def give_judges_names(names: dict[str, Any]) -> None:
    """What a judge that asks for a `class Solution` has imported already, where the program has no such name."""
    given: dict[str, Any] = {"ListNode": ListNode, "TreeNode": TreeNode}
    given |= {module: __import__(module) for module in MODULES}
    for module, members in JUDGES_NAMES.items():
        given |= {name: getattr(__import__(module), name) for name in members if name not in MODULES}
    for name, value in given.items():
        names.setdefault(name, value)


VIEWS = (type({}.keys()), type({}.values()), type({}.items()))


def spelled_out(value: Any) -> Any:
    """What a coroutine comes to, and what an iterator of the language's own gives, as a list: data can be compared."""
    if type(value) is CoroutineType:
        import asyncio  # not before the forks: it is large, and few need it

        value = asyncio.run(value)
    kind = type(value)
    own = kind.__module__ in ("builtins", "itertools", "array")
    return list(value) if kind in VIEWS or (own and (hasattr(kind, "__next__") or kind.__name__ == "array")) else value


def find(entry: str, names: dict[str, Any]) -> Callable[..., Any]:
    """A function by its name, or a method of a class `Solution`, of a fresh one for each call.

    `Solution().name` and `Class.name` say the same with the class.
    """
    owner, _, name = entry.rpartition(".")
    if not owner and name in names:
        return names[name]
    kind = names.get(owner.removesuffix("()") or "Solution")
    if isinstance(kind, type) and hasattr(kind, name):
        return lambda *a, **k: getattr(kind(), name)(*a, **k)
    if owner and name in names:
        return names[name]
    raise NameError(f"name {entry!r} is not defined")
