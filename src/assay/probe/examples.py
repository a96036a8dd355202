"""Examples that come along, for a reward that is checked with none: one honest answer a row, of the usual kinds."""

from __future__ import annotations

from typing import Any

EXAMPLES: tuple[dict[str, Any], ...] = (
    {
        "prompt": "A box holds 3 rows of 14 eggs. How many eggs are that?",
        "response": "Each row has 14 eggs and there are 3 of them, so 3 * 14 = 42. The answer is \\boxed{42}.",
        "ground_truth": "42",
    },
    {
        "prompt": "What is 1/2 + 1/4? Give a fraction.",
        "response": "With the common denominator 4 the sum is 2/4 and 1/4, which is \\boxed{\\frac{3}{4}}.",
        "ground_truth": "\\frac{3}{4}",
    },
    {
        "prompt": "A car drives 2750 metres and turns back for 1100 metres. How far is it from its start, in metres?",
        "response": "It drove 2750 away and 1100 back, and 2750 - 1100 = 1650. The answer is \\boxed{1650}.",
        "ground_truth": "1650",
    },
    {
        "prompt": "Solve x + 9 = 4 for x.",
        "response": "Take 9 from both sides: x = 4 - 9, so x is \\boxed{-5}.",
        "ground_truth": "-5",
    },
    {
        "prompt": "Which planet is the largest of the solar system? A) Mars B) Venus C) Jupiter D) Saturn",
        "response": "The largest planet is Jupiter, well before Saturn. The answer is C.",
        "ground_truth": "C",
    },
    {
        "prompt": "Which city is the capital of Portugal?",
        "response": "Portugal is governed from the city on the Tagus. The answer is Lisbon.",
        "ground_truth": "Lisbon",
    },
    {
        "prompt": "Is 91 a prime number? Answer yes or no.",
        "response": "91 is 7 times 13, so it has other divisors than 1 and itself. The answer is no.",
        "ground_truth": "no",
    },
    {
        "prompt": "Give the name and the age of Mia, who turned nine today, as JSON with the keys name and age.",
        "response": '{"name": "Mia", "age": 9}',
        "ground_truth": '{"name": "Mia", "age": 9}',
    },
    {
        "prompt": "Why is the sky blue by day? Explain in two sentences.",
        "response": "Air scatters the short waves of sunlight much more than the long ones. So blue light reaches our "
        "eyes from all over the sky, because it was scattered on its way, while red passes straight through.",
    },
    {
        "prompt": "Write a Python function longest(words) that returns the longest word, the first one of several.",
        "response": "Go through the words and keep the longest that was seen.\n\n```python\ndef longest(words):\n"
        '    best = ""\n    for word in words:\n        if len(word) > len(best):\n            best = word\n'
        "    return best\n```",
        "tests": {
            "entry_point": "longest",
            "cases": [
                {"args": [["sea", "island", "wind"]], "expected": "island"},
                {"args": [["one", "two"]], "expected": "one"},
                {"args": [[]], "expected": ""},
            ],
        },
    },
    {
        "prompt": "Write a Python program that reads a line of whole numbers and prints their sum.",
        "response": "Read the line, split it and add the numbers.\n\n```python\nnumbers = input().split()\n"
        "total = sum(int(number) for number in numbers)\nprint(total)\n```",
        "tests": {
            "kind": "stdio",
            "cases": [
                {"input": "1 2 3\n", "output": "6\n"},
                {"input": "-4 10\n", "output": "6\n"},
                {"input": "0\n", "output": "0\n"},
            ],
        },
    },
    {
        "prompt": "Describe a walk by the sea in about forty words.",
        "response": "We walked along the shore while the tide was going out, and every few steps my sister bent down "
        "for a shell. Gulls cried above us, the wind smelled of salt, and far away a white ferry crossed the bay.",
    },
    {
        "prompt": "How many days has a leap year? Think first.",
        "response": "<think>A common year has 365 days, and a leap year has one more.</think>\n<answer>366</answer>",
        "ground_truth": "366",
    },
    {
        "prompt": "How heavy is a litre of water, in kilograms? Be brief.",
        "response": "It weighs one kilogram.",
        "correct": True,
        "when_wrong": {"correct": False},
    },
    {
        "prompt": "Name a fruit and its colour, as JSON.",
        "response": '{"fruit": "banana", "colour": "yellow"}',
        "schema": {
            "type": "object",
            "required": ["fruit", "colour"],
            "properties": {
                name: {"type": "string", "minLength": 3, "pattern": "^[a-z]+$"} for name in ("fruit", "colour")
            },
        },
    },
    {
        "prompt": "Recommend a book in small letters, without a comma, and end with: enjoy it.",
        "response": "take the one about the lighthouse and its keeper because its ending is a surprise. enjoy it.",
        "instruction_id_list": [
            "change_case:english_lowercase",
            "punctuation:no_comma",
            "startend:end_checker",
            "keywords:existence",
        ],
        "kwargs": [{}, {}, {"end_phrase": "enjoy it."}, {"keywords": ["lighthouse", "because"]}],
    },
    {
        "prompt": "What is the weather in Oslo tomorrow, in degrees Celsius?",
        "response": '<tool_call>{"name": "forecast", "arguments": {"city": "Oslo", "unit": "celsius"}}</tool_call>',
        "ground_truth": [{"name": "forecast", "arguments": {"city": "Oslo", "unit": "celsius"}}],
    },
)
