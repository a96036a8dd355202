import asyncio
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'assay[serve]'")
pytest.importorskip("aiohttp", reason="aiohttp is not installed: pip install 'assay[serve]'")

from assay.compose import CompositeReward
from assay.engine import score
from assay.errors import ConfigError, InfraError, InputError
from assay.reward import FunctionReward
from assay.serve.app import ServeConfig, create_app, serve
from assay.serve.batcher import Batcher, Closed, Full
from assay.serve.client import RemoteReward, RewardClient
from assay.serve.lane import Lane
from assay.types import Outcome, Trajectory


def exact(response, ground_truth):
    return None if ground_truth is None else float(response == ground_truth)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def served():
    """Serve a reward in a thread; gives its address. Stopped, and waited for, at the end."""
    import uvicorn

    running = []

    def start(reward, **config):
        port = free_port()
        app = create_app(reward, ServeConfig(**config))
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{port}"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)


def post(url, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return answer.read().decode()


ROWS = [{"prompt": "2 + 2?", "response": r, "ground_truth": g} for r, g in (("4", "4"), ("5", "4"), ("4", None))]


def test_what_the_server_says_is_what_the_reward_says(served):
    reward = CompositeReward({"exact": (exact, 0.5), "short": (lambda response: len(response) < 9, 0.5)})
    client = RewardClient(served(reward))
    here, there = score(reward, ROWS), client.score(ROWS)
    assert [(o.reward, o.outcome, o.error) for o in here] == [(o.reward, o.outcome, o.error) for o in there]
    assert there[0].components["short"].reward == 1.0
    assert asyncio.run(client.ascore(ROWS))[1].reward == 0.5
    assert client.score([]) == []


def test_messages_and_columns_travel(served):
    def saw(trajectory):
        return float(trajectory["level"] == 3 and trajectory.messages[0]["role"] == "system")

    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    row = {"messages": [*messages, {"role": "assistant", "content": "a"}], "level": 3}
    client = RewardClient(served(FunctionReward(saw)))
    assert client.score([row])[0].reward == 1.0


def test_a_remote_reward_is_a_reward(served):
    reward = RemoteReward(served(FunctionReward(exact)))
    assert [o.reward for o in score(CompositeReward({"there": reward}), ROWS)] == [1.0, 0.0, None]
    assert reward(ROWS[:2]) == [1.0, 0.0]
    again = pickle.loads(pickle.dumps(reward))
    assert again(ROWS[:1]) == [1.0]
    gone = RemoteReward("http://127.0.0.1:9")
    gone._client.retries = 0
    (output,) = score(gone, ROWS[:1])
    assert output.outcome is Outcome.INFRA_ERROR
    assert "needed an answer from http://127.0.0.1:9/score" in output.error


def test_openrlhf(served):
    url = served(CompositeReward({"exact": exact}), unscored=-1.0) + "/get_reward"
    body = {"query": ["<s>2 + 2? 4<|im_end|>", "2 + 2? 5</s>"], "prompts": ["2 + 2? "] * 2, "labels": ["4", "4"]}
    assert post(url, body) == (
        200,
        {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {"exact": [1.0, 0.0], "scored": [1.0, 1.0]}},
    )
    body["labels"][1] = None
    status, said = post(url, body)
    assert said["rewards"] == [1.0, -1.0]
    assert said["scores"] == [1.0, 0.0]
    assert said["extra_logs"]["scored"] == [1.0, 0.0]
    status, said = post(url, {**body, "labels": []})
    assert status == 422
    assert "2, 2 and 0" in said["error"]


def test_what_was_not_scored_is_refused_where_no_number_was_chosen(served):
    url = served(FunctionReward(exact))
    body = {"query": ["q a"], "prompts": ["q "], "labels": [None]}
    status, said = post(url + "/get_reward", body)
    assert status == 422
    assert said["error"] == "not scored (abstained): reward 'exact' abstained: it returned None"


NEMO = {
    "responses_create_params": {"input": [{"role": "user", "content": "2 + 2?"}]},
    "response": {"output": [{"type": "message", "content": [{"type": "output_text", "text": "4"}]}]},
    "ground_truth": "4",
}


def test_nemo_gym(served):
    status, said = post(served(CompositeReward({"exact": exact})) + "/verify", NEMO)
    assert (status, said["reward"], said["reward_components"]) == (200, 1.0, {"exact": 1.0})
    assert said["response"] == NEMO["response"]
    assert said["outcome"] == "scored"


def test_a_group_reward_is_never_given_a_part_of_a_group(served):
    def best(group):
        return [float(len(t.response) == max(len(o.response) for o in group)) for t in group]

    url = served(best)
    for path, body in (("/get_reward", {"query": ["q a"], "prompts": ["q "], "labels": [""]}), ("/verify", NEMO)):
        status, said = post(url + path, body)
        assert status == 422
        assert "POST whole groups to /score" in said["error"]
    status, said = post(url + "/score", {"rows": [{"prompt": "p", "response": "a"}, {"prompt": "p", "response": "bb"}]})
    assert [o["reward"] for o in said["outputs"]] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{not json", 400, "no JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b"[]", 400, "needed a JSON object; found list"),
        (b"{}", 422, 'needed {"rows"'),
        (b'{"rows": [3]}', 422, "needed a row"),
        (b'{"rows": [{"response": "a"}, {"output": "a"}]}', 422, "row 1: needed a row with a response"),
        (b'{"rows": [], "step": "x"}', 422, "step"),
        (b'{"rows": [{"messages": ["x"]}]}', 422, "needed messages as a list of"),
        (b'{"rows": [{"messages": {"a": 1}}]}', 422, "needed messages as a list of"),
    ],
)
def test_bad_requests_are_told_what_is_wrong(served, body, status, said):
    url = served(FunctionReward(exact))
    found, answer = post(url + "/score", body)
    assert found == status
    assert said in answer["error"]


ODD = [None, True, 10**400, "\ud800", "x", [], [3], {}, {"role": 3}, [{"content": [{"type": "text", "text": None}]}]]


@pytest.mark.parametrize("path", ["/score", "/get_reward", "/verify"])
def test_no_request_is_the_servers_own_error(served, path):
    url = served(CompositeReward({"exact": exact}), unscored=0.0)
    for odd in ODD:
        for other in ODD:
            row = {"prompt": odd, "messages": other, "metadata": odd, "ground_truth": other}
            item = {"type": odd, "role": other, "content": odd, "summary": other, "arguments": odd}
            bodies = {
                "/score": {"rows": [odd, row]},
                "/get_reward": {"query": [odd], "prompts": [other], "labels": [odd]},
                "/verify": {"responses_create_params": {"input": odd}, "response": {"output": [item]}, **row},
            }
            status, said = post(url + path, json.dumps(bodies[path]).encode())
            assert status in (200, 422), (status, said, bodies[path])


def test_token_and_size(served):
    url = served(FunctionReward(exact), token="secret", max_bytes=500)
    status, said = post(url + "/score", {"rows": ROWS})
    assert (status, "Authorization" in said["error"]) == (401, True)
    assert post(url + "/score", {"rows": ROWS}, Authorization="Bearer wrong")[0] == 401
    assert post(url + "/score", {"rows": ROWS}, Authorization="Bearer secret")[0] == 200
    assert post(url + "/score", b"x" * 501, Authorization="Bearer secret") == (
        413,
        {"error": "a request may have 500 bytes"},
    )
    assert json.loads(get(url + "/health"))["status"] == "ok"
    with pytest.raises(urllib.error.HTTPError, match="401") as caught:
        get(url + "/metrics")
    caught.value.close()
    client = RewardClient(url, token="secret")
    assert len(client.score(ROWS[:1])) == 1
    assert "secret" not in repr(client)
    wrong = RewardClient(url)
    with pytest.raises(InputError, match="refused the request: status 401"):
        wrong.score(ROWS)


def chunked(url, parts):
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as s:
        s.sendall(b"POST /score HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            s.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        s.sendall(b"0\r\n\r\n")
        return s.recv(1000)


def test_a_body_without_a_length_is_counted_too(served):
    assert b"413" in chunked(served(FunctionReward(exact), max_bytes=500), [b"x" * 300] * 3).split(b"\r\n")[0]


def test_a_host_beyond_this_machine_needs_a_token():
    with pytest.raises(ConfigError, match=r"serving on 0\.0\.0\.0 lets others in and needs a token"):
        serve(FunctionReward(exact), ServeConfig(), host="0.0.0.0")
    assert "hidden" not in repr(ServeConfig(token="hidden"))


def test_metrics(served):
    url = served(FunctionReward(exact))
    post(url + "/score", {"rows": ROWS[:2]})
    page = get(url + "/metrics")
    assert 'assay_rows_total{outcome="scored"} 2.0' in page
    assert 'assay_requests_total{path="/score",status="200"} 1.0' in page


def test_a_lane_that_is_left_ends_without_a_word():
    def forever():
        while True:
            pass

    lane = Lane()
    lane.submit(forever)
    while not lane._todo.empty():
        time.sleep(0.01)
    lane.leave()  # an exception that no thread handles is an error here
    lane._thread.join(10)
    assert not lane._thread.is_alive()


def test_a_slow_reward_is_answered_with_504(served):
    release = threading.Event()
    url = served(FunctionReward(lambda response: release.wait(20) and 1.0), timeout=0.2)
    assert post(url + "/score", {"rows": [{"response": "x"}]}) == (504, {"error": "not scored within 0.2 s"})
    release.set()


def test_a_reward_that_does_not_end_costs_its_thread_and_not_the_server(served, caplog):
    def stuck(response):
        while response == "stuck":
            pass
        time.sleep(30 if response == "asleep" else 0)
        return 1.0

    url = served(FunctionReward(stuck), timeout=2.0)
    assert post(url + "/score", {"rows": [{"response": "stuck"}]})[0] == 504
    said = RewardClient(url).score([{"response": r} for r in ("x", "asleep", "stuck", "y")])
    assert [o.reward for o in said] == [1.0, None, None, 1.0]
    assert [str(o.outcome) for o in said[1:3]] == ["timeout"] * 2
    assert "now run in processes that are stopped after 0.5 s" in caplog.text


def test_a_reward_that_does_not_end_and_cannot_be_sent_away(served, caplog):
    release = threading.Event()  # a lock cannot be sent to another process

    def stuck(response):
        return float(response != "stuck" or release.wait(60))

    url = served(FunctionReward(stuck), timeout=0.5)
    assert post(url + "/score", {"rows": [{"response": "stuck"}]})[0] == 504
    assert RewardClient(url).score([{"response": "x"}])[0].reward == 1.0
    assert "is a lock, which cannot be" in caplog.text
    release.set()


def test_requests_in_progress_hold_so_many_bytes_and_no_more(served):
    release, entered = threading.Event(), threading.Event()

    def slow(response):
        entered.set()
        return float(release.wait(20))

    url = served(FunctionReward(slow), queue_bytes=1000)
    answers = []
    body = {"rows": [{"response": "x" * 900}]}
    first = threading.Thread(target=lambda: answers.append(post(url + "/score", body)[0]))
    first.start()
    assert entered.wait(10)
    assert post(url + "/score", body) == (429, {"error": "requests in progress hold 928 bytes"})
    assert b"429" in chunked(url, [b"x" * 300]).split(b"\r\n")[0]
    release.set()
    first.join(20)
    assert answers == [200]
    assert post(url + "/score", body)[0] == 200


def test_a_caller_that_sends_slowly_is_not_waited_for(served):
    url = served(FunctionReward(exact), timeout=0.3)
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as s:
        s.sendall(b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert b"504" in s.recv(1000).split(b"\r\n")[0]


def test_a_full_queue_is_said_and_the_client_comes_again(served):
    release = threading.Event()
    entered = threading.Event()

    def slow(response):
        entered.set()
        release.wait(20)
        return 1.0

    url = served(FunctionReward(slow), queue_rows=2)
    client = RewardClient(url)
    answers = []
    workers = [threading.Thread(target=lambda: answers.append(client.score([{"response": "x"}] * 2))) for _ in range(2)]
    workers[0].start()
    assert entered.wait(10)
    workers[1].start()
    while json.loads(get(url + "/health"))["waiting_rows"] < 2:
        time.sleep(0.01)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(
            urllib.request.Request(url + "/score", json.dumps({"rows": [{"response": "x"}]}).encode())
        )
    assert (caught.value.code, caught.value.headers["Retry-After"]) == (429, "1")
    caught.value.close()
    third = threading.Thread(target=lambda: answers.append(client.score([{"response": "x"}])))
    third.start()
    time.sleep(0.05)
    release.set()
    for w in (*workers, third):
        w.join(20)
    assert sorted(len(a) for a in answers) == [1, 2, 2]


def test_the_same_key_is_scored_once(served):
    calls = []
    url = served(FunctionReward(lambda response: calls.append(response) or 1.0))
    for _ in range(3):
        assert post(url + "/score", {"rows": [{"response": "x"}]}, **{"Idempotency-Key": "k"})[0] == 200
    assert calls == ["x"]
    post(url + "/score", {"rows": [{"response": "x"}]})
    assert calls == ["x", "x"]
    post(url + "/score", {"rows": [{"response": "y"}]}, **{"Idempotency-Key": "k"})
    assert calls == ["x", "x", "y"], "a key that is used for something else is another request"


# -- the batcher alone -----------------------------------------------------------------------------------------------


def rows(*responses):
    return [Trajectory(response=r) for r in responses]


def test_what_comes_meanwhile_is_one_batch():
    sizes = []

    def sized(responses):
        sizes.append(len(responses))
        time.sleep(0.02)
        return [float(len(r)) for r in responses]

    async def many():
        batcher = Batcher(FunctionReward(sized), batch_rows=10)
        got = await asyncio.gather(*(batcher.score(rows("x" * i)) for i in range(25)))
        await batcher.close()
        return got

    got = asyncio.run(many())
    assert [o[0].reward for o in got] == [float(i) for i in range(25)]
    assert sizes == [1, 10, 10, 4]


def test_closing_finishes_what_was_taken():
    async def closing():
        batcher = Batcher(FunctionReward(lambda response: time.sleep(0.01) or 1.0))
        taken = [asyncio.create_task(batcher.score(rows("a"))) for _ in range(5)]
        await asyncio.sleep(0)
        await batcher.close()
        with pytest.raises(Closed):
            await batcher.score(rows("late"))
        return [(await t)[0].reward for t in taken]

    assert asyncio.run(closing()) == [1.0] * 5


def test_one_request_larger_than_the_queue_is_taken_when_it_is_empty():
    async def large():
        batcher = Batcher(FunctionReward(lambda response: 1.0), queue_rows=2)
        assert len(await batcher.score(rows(*"abcde"))) == 5
        waiting = [asyncio.create_task(batcher.score(rows("a", "b"))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Full):
            await batcher.score(rows("c"))
        await asyncio.gather(*waiting)
        await batcher.close()

    asyncio.run(large())


# -- as a process ----------------------------------------------------------------------------------------------------

SERVED = """
import os, sys, threading
calls = open(sys.argv[2], "ab", buffering=0)
def counted(response):
    calls.write((response + "\\n").encode())
    return float(len(response))
from assay.serve.app import ServeConfig, serve
serve(counted, ServeConfig(), port=int(sys.argv[1]))
"""


@pytest.fixture
def process(tmp_path):
    script = tmp_path / "served.py"
    script.write_text(textwrap.dedent(SERVED))
    started = []

    def start(port):
        p = subprocess.Popen([sys.executable, script, str(port), tmp_path / "calls"], stderr=subprocess.PIPE)
        started.append(p)
        for _ in range(600):
            try:
                get(f"http://127.0.0.1:{port}/health")
                return p
            except OSError:
                assert p.poll() is None, p.stderr.read().decode()
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    yield start
    for p in started:
        if p.poll() is None:
            p.terminate()
        p.wait(20)
        p.stderr.close()


@pytest.mark.slow
def test_a_thousand_at_once_nothing_lost_and_nothing_twice(process, tmp_path):
    port = free_port()
    process(port)
    client = RewardClient(f"http://127.0.0.1:{port}", connections=1000)

    async def storm():
        got = await asyncio.gather(*(client.ascore([{"response": "x" * i + f"-{i}"}]) for i in range(1000)))
        return got

    got = asyncio.run(storm())
    assert [o[0].reward for o in got] == [float(len("x" * i + f"-{i}")) for i in range(1000)]
    calls = (tmp_path / "calls").read_text().split()
    assert len(calls) == len(set(calls)) == 1000


@pytest.mark.slow
def test_a_killed_server_costs_retries_and_not_wrong_scores(process):
    port = free_port()
    first = process(port)
    client = RewardClient(f"http://127.0.0.1:{port}", retries=12)
    responses = ["x" * (i % 50) for i in range(300)]
    got = {}

    def work(i):
        got[i] = client.score([{"response": responses[i]}])[0].reward

    threads = [threading.Thread(target=lambda k=k: [work(i) for i in range(k, 300, 6)]) for k in range(6)]
    for t in threads:
        t.start()
    while len(got) < 30:
        time.sleep(0.005)
    os.kill(first.pid, signal.SIGKILL)
    first.wait(10)
    process(port)
    for t in threads:
        t.join(60)
    assert [got[i] for i in range(300)] == [float(len(r)) for r in responses]


WORKERS = """
import os, sys, time
from assay.contract import Contract
from assay.reward import FunctionReward
from assay.serve.app import ServeConfig, serve
pids = sys.argv[2]
def careful(response):
    open(os.path.join(pids, str(os.getpid())), "w").close()
    time.sleep(0.002)
    return float(len(response))
if __name__ == "__main__":
    serve(FunctionReward(careful, workers=True), ServeConfig(), port=int(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_killed_worker_process_costs_retries_and_not_wrong_scores(tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    port = free_port()
    p = subprocess.Popen([sys.executable, script, str(port), pids], cwd=tmp_path)
    try:
        for _ in range(600):
            try:
                get(f"http://127.0.0.1:{port}/health")
                break
            except OSError:
                time.sleep(0.05)
        client = RewardClient(f"http://127.0.0.1:{port}")
        responses = ["x" * (i % 40) for i in range(600)]
        got = {}
        threads = [
            threading.Thread(
                target=lambda k=k: got.update({k: client.score([{"response": r} for r in responses[k::6]])})
            )
            for k in range(6)
        ]
        for t in threads:
            t.start()
        killed = 0
        for _ in range(400):
            for file in list(pids.iterdir()):
                if int(file.name) != p.pid and killed < 1:
                    os.kill(int(file.name), signal.SIGKILL)
                    killed += 1
                file.unlink()
            if killed:
                break
            time.sleep(0.01)
        assert killed, "the reward did not run in workers"
        for t in threads:
            t.join(120)
        for k in range(6):
            assert [o.reward for o in got[k]] == [float(len(r)) for r in responses[k::6]], got[k]
    finally:
        p.terminate()
        p.wait(20)


@pytest.mark.slow
def test_sigterm_finishes_what_was_taken(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        "import sys, time\n"
        "def slow(response):\n    time.sleep(1.0)\n    return 1.0\n"
        "from assay.serve.app import ServeConfig, serve\n"
        "serve(slow, ServeConfig(), port=int(sys.argv[1]))\n"
    )
    port = free_port()
    p = subprocess.Popen([sys.executable, script, str(port)])
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            get(url + "/health")
            break
        except OSError:
            time.sleep(0.05)
    answers = []
    worker = threading.Thread(target=lambda: answers.append(post(url + "/score", {"rows": [{"response": "x"}]})))
    worker.start()
    time.sleep(0.4)
    p.terminate()
    worker.join(20)
    assert answers[0][0] == 200
    assert p.wait(20) in (0, -signal.SIGTERM)


@pytest.mark.slow
def test_a_reward_that_never_ends_does_not_keep_the_server_from_ending(tmp_path):
    script = tmp_path / "stuck.py"
    script.write_text(
        "import sys, time\n"
        "def stuck(response):\n    time.sleep(3600)\n"
        "from assay.serve.app import ServeConfig, serve\n"
        "serve(stuck, ServeConfig(timeout=1.0), port=int(sys.argv[1]))\n"
    )
    port = free_port()
    p = subprocess.Popen([sys.executable, script, str(port)], cwd=tmp_path, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            get(url + "/health")
            break
        except OSError:
            time.sleep(0.05)
    assert post(url + "/score", {"rows": [{"response": "x"}]})[0] == 504
    p.terminate()
    assert p.wait(30) in (0, -signal.SIGTERM)


def test_what_is_no_answer_is_said_and_not_raised_as_something_else():
    """A proxy's page in place of the server's JSON, and a Retry-After that is a date."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Proxy(BaseHTTPRequestHandler):
        answers = iter([(429, b"busy"), (200, b"{not json"), (200, b"[3]")])

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body = next(self.answers)
            self.send_response(status)
            self.send_header("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT")
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        client = RewardClient(f"http://127.0.0.1:{proxy.server_port}")
        with pytest.raises(InfraError, match=r"was sent 3 rows; it answered \[3\]"):
            client.score(ROWS)
        proxy.shutdown()
        thread.join()


def test_nobody_there():
    client = RewardClient("http://127.0.0.1:9", retries=1)
    with pytest.raises(InfraError, match="after 2 tries"):
        client.score(ROWS)
