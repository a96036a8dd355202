"""verifiers v0: a Rubric from a reward, and a reward from a Rubric."""

import asyncio

import verifiers as vf
from common import EXPECTED, RESPONSES, longest, reward

from assay.adapters.verifiers import from_rubric, rubric
from assay.engine import score


def state(response, answer="5", prompt="after 4?"):
    chat = [{"role": "user", "content": prompt}]
    said = [{"role": "assistant", "content": response}]
    return vf.State(prompt=chat, completion=said, answer=answer, info={}, task="toy", trajectory=[])


async def main():
    states = [*map(state, RESPONSES), state(RESPONSES[0], answer=None)]
    made = rubric(reward(), unscored=-1.0)
    await made.score_group(states)
    assert [round(s["reward"], 6) for s in states] == [*EXPECTED, -1.0], [s["reward"] for s in states]
    assert states[0]["metrics"] == {"toy": 1.0, "shape": 1.0, "right": 1.0}, states[0]["metrics"]
    assert states[3]["metrics"]["right"] == -1.0
    alone = state(RESPONSES[0])
    await made.score_rollout(alone)
    assert alone["reward"] == 1.0

    group = [state(r) for r in ("a", "bb", "cc")]
    await rubric(longest, unscored=0.0).score_group(group)
    assert [s["reward"] for s in group] == [0.0, 1.0, 1.0]


asyncio.run(main())


async def right(completion, answer, parser, **kwargs):
    return float(completion[-1]["content"] == f"<answer>{answer}</answer>")


def lengths(completions) -> list[float]:
    return [float(len(c[-1]["content"])) for c in completions]


def broken(completion):
    raise KeyError("here")


theirs = vf.Rubric(funcs=[right, lengths, broken], weights=[1.0, 0.0, 0.0])
rows = [{"prompt": "after 4?", "response": r, "answer": "5"} for r in RESPONSES]
outputs = score(from_rubric(theirs), rows)
assert [o.reward for o in outputs] == [1.0, 0.0, 0.0]
assert [o.components["lengths"].reward for o in outputs] == [18.0, 18.0, 1.0]
assert all(o.components["broken"].reward is None for o in outputs)
print("ran: Rubric.score_group and score_rollout, and a reward from a Rubric")
