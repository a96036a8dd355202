"""The program in a response: the last fenced block, or a plain program, or the completion of a prompt.

Fences are read as chatty models write them and not as CommonMark has them (see `fences`): indented, quoted, opened at
the end of a sentence, closed at the end of a line of code or not at all. What stands in `<think>` is no part of the
answer.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.text.extract import without_reasoning

TAGS = {
    "python": frozenset({"python", "py", "python3", "py3", "python2", "ipython", "sage"}),
    "cpp": frozenset({"cpp", "c++", "cc", "cxx", "c++17", "c++20"}),
    "javascript": frozenset({"javascript", "js", "node", "nodejs", "mjs"}),
}
_OTHER_TAGS = (
    "bash sh shell console json yaml toml xml html css sql java c csharp c# go rust ruby php typescript ts text txt "
    "plaintext output markdown md diff kotlin swift scala haskell r julia perl lua pycon"
)
_ALL_TAGS = frozenset().union(*TAGS.values(), _OTHER_TAGS.split())
_MARKDOWN = ("markdown", "md")
LONGEST = 1 << 18  # characters of a program; what is longer is none that anybody asked for
MAX_CUTS = 20
UNREAD = ("exec", "globals", "locals", "vars")
LONGEST_PLAIN = 1 << 15  # without a fence only parsing tells a program from prose, and parsing is slow

_FENCE = re.compile(
    r"^([ \t>]*+)(`{3,}+|~{3,}+)([^\n`]*+)$|^[^\n`]*[^\s`>][ \t]*+(`{3})([a-zA-Z+#0-9]++)[ \t\r]*+$", re.M
)
_INLINE = re.compile(r"```([a-zA-Z+#0-9]*+)\s(.*?)```", re.S)
_STOP = re.compile(r"(?:\s*(?:<\|[\w-]{1,20}\|>|</s>|<end_of_turn>))+\s*$")
_WRAPPED = re.compile(r"[<\[](answer|python|code|solution)[>\]]\s*?\n?(.*?)(?:[<\[]/\1[>\]]|\Z)", re.S | re.I)


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
    longer: tuple[str, ...] = ()
    """The same block up to the fences after its end: one of its lines may be a fence that stands in a string."""


def extract_code(
    response: str, language: str = "python", *, join: bool = False, prompt: str = "", entry_point: str = ""
) -> Code:
    """The program that a response holds.

    A text that is a Python program as it stands is that program, whatever fences or tags are in its strings. Else the
    last fenced block whose tag is the language's, or the last without a tag; where the tests ask for a function, the
    last of those that define it, for what follows is an example of its use. With `join`, all of them in their order.
    Without a fence: a text that is a program when the prompt goes before it, or that does something by itself.

    Example:
        >>> extract_code("Here:\\n```python\\nx = 1\\n```\\nDone.").code
        'x = 1\\n'
    """
    entry = entry_point.rpartition(".")[2]
    if language == "python" and _may_be_whole(response) and (whole := _program(response.lstrip("\ufeff"), entry)):
        return Code(whole, "plain")
    text = without_reasoning(response).lstrip("\ufeff")
    if not text.strip():
        return Code("", "", "the response is empty" + (" but for its reasoning" if response.strip() else ""))
    blocks = _blocks(text) or [_Block(tag.lower(), inner, True) for tag, inner in _INLINE.findall(text)]
    if blocks:
        found = _of_blocks(blocks, language, join, entry)
        if len(found.code) > LONGEST:
            return Code("", "", f"the program is longer than {LONGEST} characters")
        return _completed(found, language, prompt, entry)
    if LONGEST_PLAIN < len(text) <= LONGEST and entry and _defines(text, entry):
        return Code(text, "plain")
    if len(text) > LONGEST_PLAIN:
        return Code("", "", f"no fenced block in a response of more than {LONGEST_PLAIN} characters")
    text = _STOP.sub("\n", text)
    if wrapped := _WRAPPED.findall(text):
        text = wrapped[-1][1]
    return _plain(text, prompt, entry) if language == "python" else Code(text, "plain")


# -- fences --


def _blocks(text: str) -> list[_Block]:
    """The fenced blocks in their order; one that nothing closes goes to the next tagged fence, or to the end."""
    fences = list(_FENCE.finditer(text))
    found: list[_Block] = []
    opened: re.Match[str] | None = None
    for i, fence in enumerate(fences):
        tag = _tag(fence)
        if opened is not None and _closes(fence, opened):
            found.append(_block(text, opened, fence, fences[i + 1 : i + 1 + MAX_CUTS]))
            opened = None
        elif opened is None or (tag in _ALL_TAGS and _is_level(fence, opened)):
            if opened is not None:
                found.append(_block(text, opened, fence, [], closed=False))
            opened = fence
    if opened is not None:
        found.append(_block(text, opened, None, []))
    return [block for block in found if block.text.strip()]


def _tag(fence: re.Match[str]) -> str:
    """`{.python .numberLines}`, `Python 3`, `python:main.py`: the first word."""
    found = re.match(r"[\s{.]*([\w+#-]*)", fence[5] or fence[3] or "")
    return found[1].lower() if found else ""


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    return _is_level(fence, opened) and not _STOP.sub("", fence[3]).strip()


def _is_level(fence: re.Match[str], opened: re.Match[str]) -> bool:
    """Whether a fence is one of the block's own: as long, and not further in, as one in a docstring is."""
    mark, own = fence[2], opened[2] or opened[4]
    deeper = len((fence[1] or "").expandtabs(4)) - len((opened[1] or "").expandtabs(4))
    return bool(mark) and mark[0] == own[0] and len(mark) >= len(own) and deeper <= 3


def _block(
    text: str, opened: re.Match[str], end: re.Match[str] | None, after: Sequence[re.Match[str]], closed: bool = True
) -> _Block:
    start, margin = opened.end() + 1, opened[1] or ""
    if end is None:
        whole = text[start:]
        mark = (opened[2] or opened[4])[:3]
        cut = re.search(rf"{mark}[ \t]*$|{mark}{_STOP.pattern}", whole, re.M)  # `return x```` at the end of a line
        shorter = (_dedented(whole[: cut.start()], margin),) if cut else ()
        return _Block(_tag(opened), _dedented(_STOP.sub("\n", whole), margin), False, shorter)
    longer = (text[start : f.start()] for f in after if _closes(f, opened)) if len(text) < LONGEST else ()
    return _Block(
        _tag(opened), _dedented(text[start : end.start()], margin), closed, tuple(_dedented(t, margin) for t in longer)
    )


def _dedented(text: str, margin: str) -> str:
    """The lines without the indent, or the marks of a quotation, that the fence stands behind."""
    if not margin:
        return text
    if ">" in margin:
        return re.sub(rf"^(?:[ \t]*>[ \t]?){{1,{margin.count('>')}}}", "", text, flags=re.M)
    return re.sub(rf"^[ \t]{{1,{len(margin)}}}", "", text, flags=re.M)


# -- which of the blocks --


def _of_blocks(blocks: list[_Block], language: str, join: bool, entry: str) -> Code:
    tags = TAGS.get(language, {language})
    chosen = [b for b in blocks if b.tag in tags] or [b for b in blocks if b.tag not in _ALL_TAGS]
    if not chosen:
        inner = [block for b in blocks if b.tag in _MARKDOWN for block in _blocks(b.text)]
        if inner:
            return _of_blocks(
                [b for b in inner if b.tag not in _MARKDOWN] or [_Block("text", "", True)], language, join, entry
            )
        found = ", ".join(sorted({b.tag for b in blocks}))
        return Code("", "", f"no block of {language}; the response has blocks of {found}")
    if join and len(chosen) > 1:
        return Code("\n".join(b.text for b in chosen), "blocks")
    block = _last(chosen, entry) if language == "python" else chosen[-1]
    return Code(_whole(block) if language == "python" else block.text, "block" if block.closed else "open block")


def _last(blocks: list[_Block], entry: str) -> _Block:
    """The last block; but no example of use, and no printed result, where a block before it is what was asked for."""
    last = blocks[-1]
    if len(blocks) == 1 or (entry and (_defines(last.text, entry) or last.text.lstrip("\n")[:1].isspace())):
        return last
    if entry:
        return next((b for b in reversed(blocks) if _defines(b.text, entry)), last)
    if last.tag:
        return last
    return next((b for b in reversed(blocks[-MAX_CUTS:]) if _is_program(b.text)), last)


def _whole(block: _Block) -> str:
    """The block's text, up to another end where only so it can be parsed."""
    if block.longer and len(block.text) <= LONGEST_PLAIN and not _parses(block.text):
        return next((t for t in block.longer if len(t) <= LONGEST_PLAIN and _parses(t)), block.text)
    return block.text


def _defines(code: str, name: str) -> bool:
    head = rf"^[ \t]*(async +def|def|class) +{re.escape(name)}\b|^{re.escape(name)}\s*[:=]"
    return re.search(head, code, re.M) is not None


def _is_program(text: str) -> bool:
    tree = _parse(text) if len(text) <= LONGEST_PLAIN else None
    return tree is not None and any(not _is_idle(node) for node in tree.body)


# -- programs without a fence, and halves of programs --


def _completed(found: Code, language: str, prompt: str, entry: str) -> Code:
    """A block that holds only the body of the function asked for is completed by the prompt."""
    if language != "python" or not found.code or not entry or len(found.code) > LONGEST_PLAIN:
        return found
    if _defines(found.code, entry) and not found.code[:1].isspace():
        return found
    if program := _program(found.code, entry):
        return Code(program, found.source)
    if not prompt or _defines(found.code, entry):
        return found
    whole = _joined(prompt, found.code, entry)
    return Code(whole, "completion") if whole else found


def _may_be_whole(response: str) -> bool:
    """Whether a response may be a program from its first character on: the first fence, if any, is in a string or a
    comment. Parsing would say so too, and takes longer.
    """
    at = min((at for at in (response.find("```"), response.find("~~~")) if at >= 0), default=-1)
    return at < 0 or any(mark in response[:at] for mark in ('"""', "'''", "#"))


def _plain(response: str, prompt: str, entry: str) -> Code:
    """Text without a fence."""
    if program := _program(response, entry):
        return Code(program, "plain")
    if whole := _joined(prompt, response, entry) if prompt and entry else "":
        return Code(whole, "completion")
    if _is_program(response):
        return Code(response, "plain")
    return Code("", "", "no fenced block, and the response as it stands is no program")


def _program(text: str, entry: str) -> str:
    """A text that is a program by itself, without an indent that all of it has; '' where it is none, or half of one."""
    if len(text) > LONGEST_PLAIN:
        return ""
    text = _STOP.sub("\n", text)
    if text.lstrip("\r\n")[:1] in (" ", "\t"):
        text = textwrap.dedent(text)
    tree = _parse(text)
    return text if tree is not None and _stands_alone(tree, entry) else ""


def _stands_alone(tree: ast.Module, entry: str) -> bool:
    """Whether a program does something, and binds the name asked for, in whatever way."""
    if all(_is_idle(node) for node in tree.body):
        return False
    nodes = list(_of_the_module(tree))
    if any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in nodes):
        return False  # the body of a function, to which the prompt has the head
    return not entry or any(_binds(node, entry) for node in nodes)


def _of_the_module(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a module that are in no function and no class."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name in (name, "Solution")
    if isinstance(node, ast.alias):
        return (node.asname or node.name) in (name, "*")
    if isinstance(node, ast.Name):  # by `exec` and its like a program binds names that cannot be read from its text
        return node.id in UNREAD if isinstance(node.ctx, ast.Load) else node.id == name
    return False


def _joined(prompt: str, rest: str, entry: str) -> str:
    """The prompt's code with its completion, cut where the completion stops being code; '' where that is no program."""
    head = prompt.rstrip()
    opening = re.search(rf"^([ \t]*)(async +)?def +{re.escape(entry)}\b", head, re.M)
    if opening is None:
        return ""
    indent = opening[1] + "    "
    if not _parses(f"{head}\n{indent}pass\n"):
        return ""
    lines = rest.rstrip().split("\n")
    first = next((line for line in lines if line.strip()), "")
    if not first[:1].isspace():
        lines = [indent + line for line in lines]  # a body that lost its indent with the prompt's last line
    end = len(lines)
    for _ in range(MAX_CUTS):
        whole = head + "\n" + "\n".join(lines[:end]) + "\n"
        wrong = _first_wrong_line(whole)
        if wrong is None:
            return whole
        end = min(end - 1, wrong - head.count("\n") - 2)  # up to the line before the one where it stops being code
        if end <= 0 or not any(line.strip() for line in lines[:end]):
            return ""
    return ""


def _first_wrong_line(text: str) -> int | None:
    """The line that the parser stops at; None where it does not."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):
        return 1
    return None


def _is_idle(node: ast.stmt) -> bool:
    """A line that does nothing: prose that happens to parse, such as `yes` or `42`."""
    return isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Await | ast.Yield | ast.NamedExpr)


def _parses(text: str) -> bool:
    return _parse(text) is not None


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
