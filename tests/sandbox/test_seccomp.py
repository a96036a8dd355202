"""The filters, walked call by call on every machine that has a table, by a small interpreter of BPF."""

from __future__ import annotations

import os

import pytest

from assay.sandbox.inside import syscalls
from assay.sandbox.inside.seccomp import (
    ALLOW,
    ANY_BIT,
    AT_LEAST,
    EQUAL,
    JUMP,
    KILL,
    LOAD,
    OWN_PID,
    RETURN,
    Profile,
    allow_list,
    deny_list,
)

MACHINES = sorted(syscalls.TABLES)
PID = 4242


def _answer(program, word, number, arguments=()):
    """What a filter says of one call."""
    values = [*arguments, *[0] * 6][:6]
    data = {0: number, 4: word}
    for i, value in enumerate(values):
        data[16 + 8 * i] = value & 0xFFFFFFFF
        data[20 + 8 * i] = value >> 32 & 0xFFFFFFFF
    at = held = 0
    while True:
        code, yes, no, constant = program[at]
        constant = PID if constant == OWN_PID else constant
        at += 1
        if code == LOAD:
            held = data[constant]
        elif code == RETURN:
            return constant
        elif code == JUMP:
            at += constant
        else:
            holds = {EQUAL: held == constant, AT_LEAST: held >= constant, ANY_BIT: bool(held & constant)}[code]
            at += yes if holds else no


def _both(machine, number, arguments=(), profile=Profile()):
    """The stricter of what the two filters say."""
    word = syscalls.TABLES[machine][0]
    answers = [_answer(f(profile, machine), word, number, arguments) for f in (allow_list, deny_list)]
    return min(answers, key=lambda a: (a != KILL, a == ALLOW))


def _numbers(machine):
    return syscalls.TABLES[machine][1]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_has_its_answer(machine):
    numbers = _numbers(machine)
    names = {number: name for name, number in numbers.items()}
    conditional = {"open", "openat", "openat2", "clone", "clone3", "kill", "tgkill", "ioctl", "prctl", "fcntl"}
    conditional |= {"socketpair", "prlimit64"}
    allowed = {numbers[n] for n in syscalls.ALLOWED if n in numbers and n not in conditional}
    lethal = {numbers[n] for n in syscalls.LETHAL if n in numbers}
    for number in range(600):
        if names.get(number) in conditional:
            continue
        answer = _both(machine, number)
        if number in lethal:
            assert answer == KILL, names[number]
        elif number in allowed:
            assert answer == ALLOW, names[number]
        else:
            assert answer not in (ALLOW, KILL), names.get(number, number)


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide(machine):
    numbers = _numbers(machine)
    opened = [("openat", 2), ("open", 1)] if "open" in numbers else [("openat", 2)]
    for name, place in opened:
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_TMPFILE):
            assert _both(machine, numbers[name], [0] * place + [flags]) != ALLOW
        assert _both(machine, numbers[name], [0] * place + [os.O_RDONLY | os.O_CLOEXEC]) == ALLOW
        assert _both(machine, numbers[name], [0] * place + [0], Profile(open_files=False)) != ALLOW
    assert _both(machine, numbers["clone"], [17]) != ALLOW  # a fork
    assert _both(machine, numbers["clone"], [0x10000]) == ALLOW  # a thread
    for call in ("kill", "tgkill"):
        assert _both(machine, numbers[call], [PID]) == ALLOW
        for pid in (1, PID + 1, -1 & 0xFFFFFFFF, -PID & 0xFFFFFFFF, 0):
            assert _both(machine, numbers[call], [pid]) == KILL
    assert _both(machine, numbers["prlimit64"], [0, 7, 0, 1]) == ALLOW
    assert _both(machine, numbers["prlimit64"], [0, 3, 0x1000, 0]) == ALLOW  # one's own: hard limits are set already
    assert _both(machine, numbers["prlimit64"], [PID + 1, 7, 0, 1]) == ALLOW
    assert _both(machine, numbers["prlimit64"], [PID + 1, 7, 1 << 32, 0]) != ALLOW
    assert _both(machine, numbers["prlimit64"], [PID + 1, 7, 0x1000, 0]) != ALLOW
    assert _both(machine, numbers["prctl"], [15]) == ALLOW
    assert _both(machine, numbers["prctl"], [1]) != ALLOW
    assert _both(machine, numbers["fcntl"], [0, 1033]) != ALLOW
    assert _both(machine, numbers["ioctl"], [0, 0x5412]) != ALLOW  # TIOCSTI
    for kind in (1, 1 | 0o4000, 1 | 0o2000000, 1 | 0o2004000):  # streams, with SOCK_NONBLOCK and SOCK_CLOEXEC
        assert _both(machine, numbers["socketpair"], [1, kind]) == ALLOW
        assert _both(machine, numbers["socketpair"], [2, kind]) != ALLOW
        assert _both(machine, numbers["socketpair"], [1, kind + 1]) != ALLOW  # a datagram can be sent to any address


def test_another_machines_calls_are_lethal():
    for program in (allow_list(Profile(), "x86_64"), deny_list(Profile(), "x86_64")):
        assert _answer(program, 0x40000003, 1) == KILL  # 32-bit calls have other numbers
    assert _both("x86_64", 0x40000000 + 1) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_the_server_keeps_what_it_needs(machine):
    word, numbers = syscalls.TABLES[machine]
    program = allow_list(Profile(), machine)
    for name in ("clone", "wait4", "kill", "prctl", "pidfd_open", "seccomp", "landlock_restrict_self"):
        assert _answer(program, word, numbers[name], [17]) == ALLOW, name
    for name in ("socket", "execve", "memfd_create"):
        assert name not in numbers or _answer(program, word, numbers[name]) != ALLOW
