"""A conversation as a reward model reads it: token ids, with nothing in the response that passes for a turn's end."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import InfraError
from assay.llm.local import Local
from assay.llm.visible import turn_end, without_padding
from assay.types import Trajectory, text_of


@dataclass(slots=True)
class Encoded:
    """One input of a model."""

    ids: tuple[int, ...]
    types: tuple[int, ...] = ()
    """Which part of a pair each token belongs to, for models that want to know."""
    cut: int = 0
    """Tokens of the prompt that were left out at its start."""

    def __len__(self) -> int:
        return len(self.ids)


def own_part(response: str) -> str:
    """The response up to where its author's own end-of-turn token stands, without padding behind it.

    >>> own_part("No.</s></s>"), own_part("No.<|endoftext|>Yes!")
    ('No.', 'No.')
    """
    return without_padding(response[: turn_end(response)])


class Encoder:
    """Encodes trajectories for one model: by its chat template where it has one, as a plain pair otherwise."""

    def __init__(self, local: Local, max_length: int = 0) -> None:
        self.local = local
        self.limit = min(max_length or local.max_length, local.max_length)
        tokenizer = local.tokenizer
        self.chat = bool(getattr(tokenizer, "chat_template", None))
        self._sanitizes = "sanitize_control_tokens" in inspect.signature(tokenizer.apply_chat_template).parameters
        self._special = sorted({t for t in tokenizer.all_special_tokens if t.strip()}, key=len, reverse=True)

    def encode(self, trajectory: Trajectory) -> Encoded:
        """Encode one trajectory; its prompt is cut at the start where both do not fit, never the answer's end."""
        turns = [dict(turn) for turn in trajectory.conversation]
        if turns and turns[-1].get("role") == "assistant":
            turns[-1]["content"] = own_part(text_of(turns[-1]))
        if not any(turn.get("role") == "user" for turn in turns):
            behind_system = int(turns[0].get("role") == "system") if turns else 0
            turns.insert(behind_system, {"role": "user", "content": trajectory.prompt})
        encoded = self._ids(turns)
        length = len(encoded)
        for _ in range(3):  # a cut may leave a token more than was counted
            if len(encoded) <= self.limit or not self._shorten(turns, len(encoded) - self.limit):
                break
            encoded = self._ids(turns)
        if len(encoded) > self.limit:
            keep = 1 if encoded.ids[:1] == (self.local.tokenizer.bos_token_id,) else 0
            tail = self.limit - keep
            encoded = Encoded(encoded.ids[:keep] + encoded.ids[-tail:], encoded.types[:keep] + encoded.types[-tail:])
        encoded.cut = length - len(encoded)
        self.check(encoded)
        return encoded

    def prompt_ids(self, trajectory: Trajectory) -> list[int]:
        """What stands before the answer: the template's own opening, or the plain prompt."""
        before = [dict(turn) for turn in trajectory.conversation[: len(trajectory.conversation) - 1]]
        if not self.chat:
            text = self._unspecial("\n\n".join(text_of(turn) for turn in before))
            return self.plain_ids(text + "\n") if text else []
        turns = before or [{"role": "user", "content": trajectory.prompt}]
        return list(self._chat_ids(turns, add_generation_prompt=True).ids)

    def plain_ids(self, text: str) -> list[int]:
        """The ids of a text in which nothing is a special token."""
        return list(self.local.tokenizer(self._unspecial(text), add_special_tokens=False, verbose=False)["input_ids"])

    def _ids(self, turns: Sequence[Mapping[str, Any]]) -> Encoded:
        return self._chat_ids(turns) if self.chat else self._pair_ids(turns)

    def _chat_ids(self, turns: Sequence[Mapping[str, Any]], add_generation_prompt: bool = False) -> Encoded:
        tokenizer = self.local.tokenizer
        how: dict[str, Any] = {"tokenize": True, "return_dict": False, "add_generation_prompt": add_generation_prompt}
        if self._sanitizes:
            how["sanitize_control_tokens"] = True
        else:
            turns = [{**turn, "content": self._unspecial(text_of(turn))} for turn in turns]
        ids = tokenizer.apply_chat_template(turns, **how)
        bos = tokenizer.bos_token_id
        while bos is not None and len(ids) > 1 and ids[0] == ids[1] == bos:
            ids = ids[1:]
        return Encoded(tuple(ids))

    def _pair_ids(self, turns: Sequence[Mapping[str, Any]]) -> Encoded:
        *before, last = turns
        several = len(before) > 1
        prompt = "\n\n".join(f"{t.get('role')}: {text_of(t)}" if several else text_of(t) for t in before)
        prompt, response = self._unspecial(prompt), self._unspecial(text_of(last))
        given = self.local.tokenizer(prompt, response, truncation=False, verbose=False)
        return Encoded(tuple(given["input_ids"]), tuple(given.get("token_type_ids") or ()))

    def _unspecial(self, text: str) -> str:
        """The text with a space in each of the tokenizer's own special tokens, so that it is not one."""
        for token in self._special:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def _shorten(self, turns: list[dict[str, Any]], excess: int) -> bool:
        """Cut so many tokens from the start of what stands before the answer; says whether there was any."""
        left = excess + 1
        for turn in turns[:-1]:
            text = text_of(turn)
            if not text or left <= 0:
                continue
            ids = self.local.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            turn["content"] = self.local.tokenizer.decode(ids[left:]) if len(ids) > left else ""
            left -= len(ids)
        return left <= excess

    def check(self, encoded: Encoded) -> None:
        """Refuse ids that the model has no embedding for: on a GPU they end the process."""
        rows = self.local.rows_of_embedding
        if not encoded.ids or max(encoded.ids) >= rows:
            found = max(encoded.ids, default="none")
            raise InfraError(
                f"the tokenizer gives the id {found}, and the model has {rows} embeddings: they do not belong "
                f"together, or tokens were added without resize_token_embeddings."
            )
