"""The client against a real server that misbehaves."""

from __future__ import annotations

import asyncio
import time
import traceback
import warnings
from types import SimpleNamespace

import pytest

from assay.errors import InfraError
from assay.llm.client import Call, Endpoint, Refused, post
from assay.llm.read import fault_in_chat
from assay.llm.secret import Secret

from .server import Fault, JudgeServer, completion

CALL = Call("/chat/completions", {"model": "m", "messages": []}, fault_in=fault_in_chat)


def ask(server, *calls, **limits):
    async def main():
        endpoint = Endpoint(server.url, Secret("sk-test-1234"), **limits)
        return await asyncio.gather(*(post(endpoint, call) for call in calls or (CALL,)), return_exceptions=True)

    return asyncio.run(main())


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=429, headers={"Retry-After": "0.1"}),
        Fault(status=429, headers={"retry-after-ms": "100"}),
        Fault(status=503),
        Fault("drop"),
        Fault("cut", status=200, body='{"choices": [{"message": {"content": "5"}}]}'),
        Fault("raw", status=200, body="<html>busy</html>"),
        Fault("raw", status=200, body="[1, 2]"),
        Fault("raw", status=200, body='{"choices": []}'),
        Fault("raw", status=200, body='{"error": {"message": "overloaded"}}'),
        Fault("raw", status=200, body='{"choices": [{"message": null}]}'),
    ],
    ids=lambda f: f"{f.kind}-{f.status}-{f.body[:14]}",
)
def test_what_can_pass_is_tried_again(fault):
    with JudgeServer(lambda path, request, n: fault if n < 3 else completion("5")) as server:
        (reply,) = ask(server)
        assert reply.body["choices"][0]["message"]["content"] == "5"
        assert reply.attempts == len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_cannot_pass_is_said_at_once(status):
    with JudgeServer(lambda *_: Fault(status=status, body="no such model for sk-test-1234")) as server:
        (error,) = ask(server)
        assert isinstance(error, Refused)
        assert error.status == status
        assert len(server.requests) == 1
        assert "no such model" in str(error)
        assert "sk-test-1234" not in str(error)


def test_a_quota_that_is_spent_is_not_tried_again():
    with JudgeServer(lambda *_: Fault(status=429, body='{"error": {"code": "insufficient_quota"}}')) as server:
        (error,) = ask(server)
        assert isinstance(error, Refused)
        assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["hang", "slow"])
def test_a_server_that_never_ends_is_left(kind):
    started = time.monotonic()
    with JudgeServer(lambda *_: Fault(kind, status=200)) as server:
        (error,) = ask(server, attempt_timeout=0.3, deadline=0.8, retries=5)
    assert isinstance(error, InfraError)
    assert "no reply in" in str(error)
    assert time.monotonic() - started < 3


def test_a_long_retry_after_is_not_waited_for():
    with JudgeServer(lambda *_: Fault(status=429, headers={"Retry-After": "3600"})) as server:
        started = time.monotonic()
        errors = ask(server, *[Call(CALL.path, {**CALL.payload, "n": i}) for i in range(5)], deadline=2.0)
        assert all(isinstance(error, InfraError) for error in errors)
        assert "pause of" in str(errors[0])
        assert time.monotonic() - started < 2


def test_one_cool_down_for_all_who_call():
    times = []

    def answer(path, request, n):
        times.append(time.monotonic())
        return Fault(status=429, headers={"Retry-After": "0.6"}) if n == 1 else completion("5")

    with JudgeServer(answer) as server:
        calls = [Call(CALL.path, {**CALL.payload, "n": i}) for i in range(6)]
        replies = ask(server, *calls, concurrency=1)
        assert all(reply.body for reply in replies)
    assert times[1] - times[0] >= 0.55  # the other five waited too


def test_equal_calls_are_sent_once_and_remembered():
    async def main(server):
        endpoint = Endpoint(server.url)
        together = await asyncio.gather(*(post(endpoint, CALL) for _ in range(8)))
        later = await post(endpoint, CALL)
        other = await post(endpoint, Call(CALL.path, CALL.payload, salt="1"))
        return together, later, other

    with JudgeServer(lambda *_: completion("5"), latency=0.05) as server:
        together, later, other = asyncio.run(main(server))
        assert len(server.requests) == 2
    assert sum(not reply.cached for reply in together) == 1
    assert later.cached
    assert not other.cached


def test_one_of_equal_calls_may_be_cancelled():
    async def main(server):
        endpoint = Endpoint(server.url)
        first = asyncio.ensure_future(post(endpoint, CALL))
        second = asyncio.ensure_future(post(endpoint, CALL))
        await asyncio.sleep(0.1)
        first.cancel()
        return await second

    with JudgeServer(lambda *_: completion("5"), latency=0.3) as server:
        assert asyncio.run(main(server)).body["choices"]


def test_no_more_in_flight_than_allowed():
    with JudgeServer(lambda *_: completion("5"), latency=0.02) as server:
        ask(server, *[Call(CALL.path, {**CALL.payload, "n": i}) for i in range(40)], concurrency=4)
        assert server.most_at_once == 4


def test_the_key_goes_to_the_server_and_nowhere_else():
    with JudgeServer(lambda *_: completion("5")) as server:
        ask(server)
        assert server.headers[0]["authorization"] == "bearer sk-test-1234"
    with JudgeServer(lambda *_: Fault(status=307, headers={"Location": server.url})) as other:
        (error,) = ask(other)
        assert isinstance(error, Refused)  # a redirect is not followed


def test_a_key_that_a_server_repeats_is_in_no_reply():
    with JudgeServer(lambda *_: completion("your key is sk-test-1234")) as server:
        (reply,) = ask(server)
        assert reply.body["choices"][0]["message"]["content"] == "your key is ***"


def test_connections_are_closed_with_their_loop():
    with JudgeServer(lambda *_: completion("5")) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            (reply,) = ask(server)
            assert reply.body


def test_a_reply_without_end_is_not_read(monkeypatch):
    monkeypatch.setattr("assay.llm.framing.MAX_BODY", 1000)
    with JudgeServer(lambda *_: completion("x" * 5000)) as server:
        (error,) = ask(server, retries=1)
        assert "more than 1000 bytes" in str(error)


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    pytest.importorskip("aiohttp", reason="the extra 'judge' is not installed")
    with JudgeServer(lambda *_: completion("5")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        away = SimpleNamespace(url="http://judge.example/v1")
        (reply,) = ask(away)
        assert reply.body["choices"]
        assert proxy.requests[0][0] == "http://judge.example/v1/chat/completions"
        (direct,) = ask(proxy)
        assert direct.body["choices"]
        assert proxy.requests[1][0] == "/chat/completions"


def test_a_key_that_cannot_be_sent_is_said_without_it():
    async def main():
        endpoint = Endpoint("http://127.0.0.1:9/v1", Secret("sk-test-1234\n"))
        with pytest.raises(InfraError, match="line break") as told:
            await post(endpoint, CALL)
        return "".join(traceback.format_exception(told.value))

    assert "sk-test" not in asyncio.run(main())
