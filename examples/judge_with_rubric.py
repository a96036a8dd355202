"""A judge with a rubric, over any server with OpenAI's wire format.

    python examples/judge_with_rubric.py http://127.0.0.1:8080/v1 my-model

The key, where the server wants one, is taken from OPENAI_API_KEY.
"""

import sys

import assay
from assay.llm.judge_model import JudgeModel

RUBRIC = [
    "The response names a city.",
    ("The response is one sentence.", 0.5),  # half as heavy
    ("The response is rude.", -1.0),  # this one costs
]

ROWS = [
    {"prompt": "What is the capital of France?", "response": "It is Paris.", "ground_truth": "Paris"},
    {"prompt": "What is the capital of France?", "response": "Look it up yourself.", "ground_truth": "Paris"},
    {"prompt": "What is the capital of France?", "response": ""},  # nothing to judge: 0, and no call is made
]


def main(base_url: str, model: str = "default", api_key: str = "") -> list[assay.RewardOutput]:
    # How verdicts are read is found out once; "schema" says it: JSON with exactly the keys that were asked for.
    judge = assay.LLMJudge(JudgeModel(model, api_key, base_url, read="schema", deadline=60.0), rubric=RUBRIC)
    outputs = assay.score(judge, ROWS)
    for row, output in zip(ROWS, outputs, strict=True):
        print(f"{output.reward}  {output.outcome}  {row['response']!r}  {output.error}")
        for name, verdict in output.metadata.get("judge", {}).get("verdicts", {}).items():
            print(f"    {name}: {verdict['label']}")
    print(f"{judge.judge.usage.calls} calls, {judge.judge.usage.tokens_in} tokens in")
    return outputs


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"needed the server's address.\n\n{__doc__}")
    main(*sys.argv[1:])
