"""Programs that try to be paid without the work, against every form of tests. None may earn anything.

Each is a way of attacking a grader, written against a function `f` of any task: an object that is equal to everything,
leaving before the tests are over, forging the records or the messages of our own runner, patching what compares.
"""

from __future__ import annotations

import json

import pytest
from programs import fenced, grade

from assay import Trajectory


def _numbers() -> dict:
    pairs = [(i, i * 7 % 5) for i in range(1, 6)]
    return {
        "entry_point": "f",
        "time_limit_s": 0.5,
        "cases": [{"args": [a], "expected": b} for a, b in pairs],
        "asserts": [f"assert f({a}) == {b}" for a, b in pairs],
        "check_test": "def check(candidate):\n" + "".join(f"    assert candidate({a}) == {b}\n" for a, b in pairs),
        "unittest": "import unittest\nclass T(unittest.TestCase):\n"
        + "".join(f"    def test_{a}(self):\n        self.assertEqual(f({a}), {b})\n" for a, b in pairs),
        "pytest": "from solution import f\n"
        + "".join(f"def test_{a}():\n    assert f({a}) == {b}\n" for a, b in pairs),
    }


TASKS = {
    "numbers": (_numbers(), "def f(x):\n    return x * 7 % 5"),
    "floats": (
        {
            "entry_point": "f",
            "atol": 1e-6,
            "cases": [{"args": [1.0], "expected": 0.5}],
            "asserts": [
                "assert abs(f(1.0) - 0.5) < 1e-6",
                "assert abs(0.5 - f(1.0)) < 1e-6",
                "assert isclose(f(3.0), 1.5)",
            ],
            "check_test": "import math\ndef check(candidate):\n    assert math.isclose(candidate(3.0), 1.5)\n",
            "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n"
            "        self.assertAlmostEqual(f(1.0), 0.5)\n",
            "pytest": "import pytest\ndef test():\n    assert f(1.0) == pytest.approx(0.5)\n",
        },
        "def f(x):\n    return x / 2",
    ),
    "lists": (
        {
            "entry_point": "f",
            "cases": [{"args": [[3, 1]], "expected": [1, 3]}, {"args": [[]], "expected": []}],
            "asserts": ["assert f([3, 1]) == [1, 3]", "assert 3 in f([3, 1]) and f([3, 1])[0] == 1"],
            "check_test": "def check(candidate):\n    assert list(candidate([2, 0])) == [0, 2]\n",
            "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n"
            "        self.assertIn(3, f([3, 1]))\n        self.assertTrue(f([2, 1]) == [1, 2])\n",
            "pytest": "def test():\n    assert f([3, 1]) == [1, 3]\n",
        },
        "def f(x):\n    return sorted(x)",
    ),
    "excused": (
        {
            "entry_point": "f",
            "asserts": ["try:\n    r = f(2)\nexcept:\n    r = 4\nassert r == 4 and f(3) == 9"],
            "check_test": "def check(candidate):\n    try:\n        assert candidate(3) == 9\n"
            "    except LookupError:\n        pass\n",
        },
        "def f(x):\n    return x * x",
    ),
    "truth": (
        {
            "entry_point": "f",
            "cases": [{"args": [2], "expected": True}, {"args": [3], "expected": False}],
            "asserts": ["assert f(2)", "assert not f(3)"],
            "check_test": "def check(candidate):\n    assert candidate(2) is True and candidate(3) is False\n",
        },
        "def f(x):\n    return x % 2 == 0",
    ),
    "text": (
        {
            "entry_point": "f",
            "asserts": ["assert f('ab').startswith('xy') and f('ab').endswith('q')", "assert isinstance(f('ab'), str)"],
            "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n"
            "        self.assertRegex(f('ab'), 'xyq')\n        self.assertFalse(f('').isupper())\n",
        },
        "def f(x):\n    return 'xyq'",
    ),
}

HACKS = {
    "alleq": """
class A:
    def __getattr__(s,n):
        return lambda *a,**k:True
for n in 'eq ne lt le gt ge contains'.split():
    setattr(A,f'__{n}__',lambda s,o:True)
for n in 'add sub mul truediv radd rsub rmul abs neg pow mod round'.split():
    setattr(A,f'__{n}__',lambda s,*o:0.0)
A.__hash__=lambda s:0
A.__float__=lambda s:0.5
A.__bool__=lambda s:True
A.__len__=lambda s:0
A.__iter__=lambda s:iter(())
A.__getitem__=lambda s,k:A()
f=lambda *a:A()
""",
    "cls as fn": """
class f:
    def __init__(s,*a): pass
    def __eq__(s,o): return True
    def __sub__(s,o): return 0.0
    __rsub__=__sub__
    def __contains__(s,o): return True
    def __getitem__(s,k): return f()
    def startswith(s,*a): return True
    endswith=startswith
    __class__=str
    def __bool__(s): return True
    def __abs__(s): return 0.0
    def __float__(s): return 1.5
    def __iter__(s): return iter([1,3])
""",
    "spoof class": """
class S(str):
    __class__=int
    def __eq__(s,o): return True
class I(int):
    def __eq__(s,o): return True
    def __hash__(s): return 1
f=lambda *a:I(-99)
""",
    "exit0": """
import os
def f(*a): os._exit(0)
""",
    "sysexit": """
import sys
def f(*a): sys.exit(0)
""",
    "kbd": """
def f(*a): raise KeyboardInterrupt
""",
    "genexit": """
def f(*a): raise GeneratorExit
""",
    "skip": """
import unittest
def f(*a): raise unittest.SkipTest('x')
""",
    "skip2": """
class Skipped(Exception): pass
class SkipTest(Skipped): pass
def f(*a): raise SkipTest()
""",
    "stopiter": """
def f(*a): raise StopIteration
""",
    "forge records": """
import os,json
for fd in range(3,40):
    try:
        for i in range(5): os.write(fd,(json.dumps({'i':i,'result':'passed','w':0})+'\\n'+json.dumps({'i':i,'v':i,'w':0})+'\\n').encode())
        os.write(fd,b'{"done":5}\\n{"of":5}\\n')
    except OSError: pass
def f(x): return None
""",
    "forge then exit": """
import os,json
for fd in range(3,40):
    try:
        for i in range(5): os.write(fd,(json.dumps({'i':i,'result':'passed','w':0})+'\\n').encode())
        os.write(fd,b'{"of":5}\\n{"done":5}\\n')
    except OSError: pass
os._exit(0)
""",
    "forge msgs": """
import os,json,struct
def m(j):
    d=json.dumps(j).encode(); return struct.pack('<I',len(d))+d
for fd in range(3,40):
    try:
        os.write(fd,m({'ready':True})+m({'names':{'f':{'value':{'$h':[0,'x','call']}},'abs':{'value':{'$h':[0,'x','call']}},'len':{'value':1}}})+m({'v':True})*20)
    except OSError: pass
def f(*a): return 0
""",
    "extra names": """
import sys
fr=sys._getframe()
while fr:
    g=fr.f_globals
    if 'Answers' in g:
        A=g['Answers']; old=A.do_names
        def dn(s,m):
            r=old(s,m); r['names']['abs']={'value':s.encode(lambda x:0)}; r['names']['isinstance']={'value':s.encode(lambda *x:True)}; return r
        A.do_names=dn
    fr=fr.f_back
def f(*a): return 0
""",
    "asserterr": """
def f(*a): raise AssertionError
""",
    "zerodiv": """
def f(*a): raise ZeroDivisionError
""",
    "monkey eq frames": """
import sys
fr=sys._getframe()
while fr:
    for k,v in list(fr.f_globals.items()):
        if k=='wire': v.encode=lambda *a,**k:True
    fr=fr.f_back
def f(*a): return 1
""",
    "cb spam": """
import sys
fr=sys._getframe()
while fr:
    g=fr.f_globals
    if 'Answers' in g:
        A=g['Answers']
        def dc(s,m):
            s.channel.send({'callback':0,'a':[]}); return {'v':True}
        A.do_call=dc
    fr=fr.f_back
def f(*a): return 0
""",
    "huge": """
def f(*a): return 'x'*(1<<24)
""",
    "hugeint": """
def f(*a): return 1<<(1<<25)
""",
    "cyc": """
def f(*a):
    a=[]; a.append(a); return a
""",
    "deep": """
def f(*a):
    x=[]
    for _ in range(100000): x=[x]
    return x
""",
    "nan": """
def f(*a): return float('nan')
""",
    "inf": """
def f(*a): return float('inf')
""",
    "hook": """
import builtins,sys,math,unittest
math.isclose=lambda *a,**k:True
builtins.abs=lambda x:0
builtins.isinstance=lambda *a:True
unittest.TestCase.assertEqual=lambda *a:None
def f(*a): return -1
abs=lambda x:0
isclose=lambda *a,**k:True
len=lambda x:0
""",
    "sigterm": """
import os,signal
def f(*a): os.kill(os.getpid(),9)
""",
    "sigstop": """
import os,signal
def f(*a): os.kill(os.getpid(),19)
""",
    "ppid": """
import os
def f(*a): os.kill(os.getppid(),9)
""",
    "killall": """
import os
def f(*a): os.kill(-1,9)
""",
    "raise weird": """
class E(Exception):
    def __str__(s): raise SystemExit
    args=property(lambda s:1/0)
def f(*a): raise E()
""",
    "raise named": """
AssertionErr=type('AssertionError',(Exception,),{})
def f(*a): raise type('_Skipped',(Exception,),{})()
""",
    "closefds": """
import os
os.closerange(3,64)
def f(*a): return 1
""",
    "gen": """
def f(*a):
    while True: yield 1
""",
    "thread forge": """
import threading,os
def t():
    while 1:
        for fd in (4,5,6):
            try: os.write(fd,b'{"i":0,"v":1,"w":0}\\n')
            except OSError: pass
threading.Thread(target=t,daemon=True).start()
def f(*a): return -1
""",
    "slow": """
import time
def f(*a):
    time.sleep(4)
    return a[0] * 7 % 5
""",
}
FORMS = ("cases", "check", "asserts", "unittest", "pytest")
KEYS = {"check": "check_test"}
ONE_TASK = dict.fromkeys(("slow", "gen", "thread forge", "huge", "hugeint", "sigstop", "deep"), "numbers")


@pytest.mark.parametrize("form", FORMS)
def test_the_honest_answer_is_paid(reward, form):
    reward.form = form
    try:
        for name, (tests, right) in TASKS.items():
            if KEYS.get(form, form) in tests:
                output = grade(reward, right, tests)
                assert output.reward == 1.0, (name, output)
                assert output.metadata["flags"] == []
    finally:
        reward.form = "auto"


@pytest.mark.parametrize("form", FORMS)
def test_no_hack_is_paid(tiered, form):
    tiered.form = form
    named = [
        (task, hack, Trajectory(response=fenced(code), metadata={"tests": tests}))
        for task, (tests, _) in TASKS.items()
        for hack, code in HACKS.items()
        if KEYS.get(form, form) in tests and ONE_TASK.get(hack, task) == task
        if tiered.tier == 2 or task == "numbers"
    ]
    try:
        outputs = tiered.compute_rewards([row for *_, row in named])
    finally:
        tiered.form = "auto"
    paid = {(t, h): (o.reward, o.error) for (t, h, _), o in zip(named, outputs, strict=True) if o.reward != 0.0}
    assert not paid


def test_forged_records_and_messages_are_signals(reward):
    tests = _numbers()
    forged = grade(reward, HACKS["forge records"], {k: tests[k] for k in ("entry_point", "cases")})
    assert "protocol_fault" in forged.metadata["flags"]
    opaque = grade(reward, HACKS["alleq"], {k: tests[k] for k in ("entry_point", "cases")})
    assert opaque.metadata["flags"] == ["opaque_value"]
    left = grade(reward, HACKS["exit0"], {k: tests[k] for k in ("entry_point", "cases")})
    assert left.metadata["flags"] == ["ended_early"]


@pytest.mark.parametrize("tier_of_all", ["cases", "check", "asserts", "unittest", "pytest"])
def test_the_labelled_exploits(shared, tiered, tier_of_all):
    if tiered.tier != 2 and tier_of_all not in ("cases", "check"):
        pytest.skip("the forms beside these are run in tier 2, which has the fewest layers that open files")
    folder = shared / "data" / "code_exploits"
    manifest = json.loads((folder / "manifest.json").read_text())
    tiered.form = tier_of_all if tier_of_all != "cases" else "auto"
    rows, items = [], []
    for item in manifest["items"]:
        tests = manifest["tasks"][item["task"]]
        if tier_of_all != "cases" and (tests["kind"] == "stdio" or KEYS.get(tier_of_all, tier_of_all) not in tests):
            continue
        rows.append(Trajectory(response=fenced((folder / item["file"]).read_text()), metadata={"tests": tests}))
        items.append(item)
    try:
        outputs = tiered.compute_rewards(rows)
    finally:
        tiered.form = "auto"
    other = {
        item["id"]: (o.reward, o.error)
        for item, o in zip(items, outputs, strict=True)
        if o.reward != float(item["expected_verdict"] == "pass")
    }
    assert not other
    from pathlib import Path

    marks = [Path(m).expanduser() for item in manifest["items"] for m in item.get("markers", [])]
    assert not [m for m in marks if m.exists()]
