"""The program in a response: the last fenced block, or a plain program, or the completion of a prompt."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

TAGS = {
    "python": frozenset({"python", "py", "python3", "py3", "pycon", "python2"}),
    "cpp": frozenset({"cpp", "c++", "cc", "cxx", "c++17", "c++20"}),
    "javascript": frozenset({"javascript", "js", "node", "nodejs", "mjs"}),
}
LONGEST = 1 << 20  # characters; what is longer is no program that anybody asked for

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$", re.M)


@dataclass(frozen=True, slots=True)
class Code:
    """A program, and where it was found; with no program, why there is none."""

    code: str
    source: str
    """'block', 'blocks', 'open block' (its end is missing), 'plain' or 'completion'; '' where there is no program."""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    tag: str
    text: str
    closed: bool


def extract_code(
    response: str, language: str = "python", *, join: bool = False, prompt: str = "", entry_point: str = ""
) -> Code:
    """The program that a response holds.

    The last fenced block whose tag is the language's; else the last without a tag; with `join`, all of them in their
    order. Without a fence: a text that is a program as it stands, or that is one when the prompt goes before it.

    Example:
        >>> extract_code("Here:\\n```python\\nx = 1\\n```\\nDone.").code
        'x = 1\\n'
    """
    if len(response) > LONGEST:
        return Code("", "", f"the response is longer than {LONGEST} characters")
    blocks = _blocks(response)
    if blocks:
        return _completed(_of_blocks(blocks, language, join), language, prompt, entry_point)
    if not response.strip():
        return Code("", "", "the response is empty")
    if language != "python":
        return Code(response, "plain")
    return _plain(response, prompt, entry_point)


def _blocks(text: str) -> list[_Block]:
    """The fenced blocks; one that the text ends in is open."""
    found: list[_Block] = []
    fence, tag, start = "", "", 0
    for match in _FENCE.finditer(text):
        mark = match.group(1)
        if not fence:
            fence, tag, start = mark, match.group(2).lower().strip("{}."), match.end() + 1
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not match.group(2):
            found.append(_Block(tag, text[start : match.start()], True))
            fence = ""
    if fence and text[start:].strip():
        found.append(_Block(tag, text[start:], False))
    return found


def _of_blocks(blocks: list[_Block], language: str, join: bool) -> Code:
    tagged = [b for b in blocks if b.tag in TAGS.get(language, {language})]
    chosen = tagged or [b for b in blocks if b.tag not in _ALL_TAGS]
    if not chosen:
        found = ", ".join(sorted({b.tag for b in blocks}))
        return Code("", "", f"no block of {language}; the response has blocks of {found}")
    if join and len(chosen) > 1:
        return Code("\n".join(b.text for b in chosen), "blocks")
    return Code(chosen[-1].text, "block" if chosen[-1].closed else "open block")


_OTHER_TAGS = (
    "bash sh shell console json yaml toml xml html css sql java c csharp c# go rust ruby php typescript ts text txt "
    "plaintext output markdown md diff kotlin swift scala haskell r julia perl lua"
)
_ALL_TAGS = frozenset().union(*TAGS.values(), _OTHER_TAGS.split())


def _completed(found: Code, language: str, prompt: str, entry_point: str) -> Code:
    """A block that holds only the body of the function asked for is completed by the prompt."""
    if language != "python" or not found.code or not prompt or not entry_point:
        return found
    if re.search(
        rf"^\s*(async +def|def|class) +{re.escape(entry_point)}\b|^{re.escape(entry_point)}\s*[:=]", found.code, re.M
    ):
        return found
    whole = _joined(prompt, found.code, entry_point)
    return Code(whole, "completion") if whole else found


def _plain(response: str, prompt: str, entry_point: str) -> Code:
    """Text without a fence."""
    whole = _joined(prompt, response, entry_point) if prompt and entry_point else ""
    tree = _parse(response)
    names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)} if tree else set[str]()
    if whole and entry_point not in names and "Solution" not in names:
        return Code(whole, "completion")
    if tree and any(not _is_idle(node) for node in tree.body):
        return Code(response, "plain")
    return Code("", "", "no fenced block, and the response as it stands is no program")


def _joined(prompt: str, rest: str, entry_point: str) -> str:
    """The prompt's code with its completion, cut where the completion stops being code; '' where that is no program."""
    head = prompt.rstrip()
    if f"def {entry_point}" not in head or not _parses(head + "\n    pass\n"):
        return ""
    lines = rest.rstrip().split("\n")
    first = next((line for line in lines if line.strip()), "")
    if not first[:1].isspace():
        lines = ["    " + line for line in lines]  # a body that lost its indent with the prompt's last line
    for end in range(len(lines), max(0, len(lines) - 200), -1):
        whole = head + "\n" + "\n".join(lines[:end]) + "\n"
        if _parses(whole):
            return whole
    return ""


def _is_idle(node: ast.stmt) -> bool:
    """A line that does nothing: prose that happens to parse, such as `yes` or `42`."""
    return isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Await | ast.Yield)


def _parses(text: str) -> bool:
    return _parse(text) is not None


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
