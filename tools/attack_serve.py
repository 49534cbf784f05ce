#!/usr/bin/env python3
"""Hostile and heavy use of a real `mary serve`, by seed.

    python3 tools/attack_serve.py MARY MODEL --requests 10000     # hostile requests, a good one between every ten
    python3 tools/attack_serve.py MARY MODEL --minutes 20         # 16 clients at full load, a quarter of them leave early
    python3 tools/attack_serve.py MARY MODEL --kills 5            # killed and started again under load

Every client has words of its own (a marker) in what it sends; no answer may hold those of another. A good request is one
whose answer was noted before the attack. Ends with 1 where the server ends, leaks, answers a good request
otherwise than before, or grows by more than --grow megabytes. Needs Python alone.
"""

import argparse
import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

PATHS = ["/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/score", "/tokenize", "/detokenize"]
MARKER = re.compile(r"zq\d+qz")
HUGE = [0, -1, 1e308, -1e308, 2**31, 2**32, 2**53, 2**63, 2**64, 10**400, 1e-320, 0.1, float("inf"), float("nan")]


class Server:
    def __init__(self, mary, model, patience=600):
        words = [mary, "serve", "-m", f"small={model}", "--port", "0", "--max-body", "2", "--timeout", str(patience)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/v1", line):
                break
        else:
            sys.exit("the server did not start")
        self.port = int(found.group(1))
        self.log = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stderr:
            if not re.match(r"127\.0\.0\.1:\d+ \S+ \d+ \d+ ms$", line):
                self.log.append(line)

    def megabytes(self):
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024

    def ask(self, path, body, timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("POST" if body is not None else "GET", path, json.dumps(body) if body is not None else None)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def good(marker):
    return [
        ("/score", {"prefix": f"The {marker} cat", "continuations": [" is asleep.", " are asleep."]}),
        ("/v1/completions", {"prompt": "The keys to the cabinet", "max_tokens": 8, "temperature": 0}),
        ("/v1/completions", {"prompt": f"The cat {marker} sat on", "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}),
        ("/tokenize", {"prompt": f"{marker} sat"}),
    ]


def essence(path, said):
    """What must not change: texts, and numbers to four places."""
    said = json.loads(said)
    if path == "/score":
        return [round(x, 3) for x in said["sums"]]
    if path == "/tokenize":
        return said["tokens"]
    choice = said["choices"][0]
    numbers = (choice["logprobs"] or {}).get("token_logprobs") or []
    return choice["text"], [x and round(x, 3) for x in numbers]


def near(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 2e-3
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(near, a, b))
    return a == b


def value(draw, depth=0):
    kind = draw.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return draw.choice(HUGE)
    if kind == 1:
        return draw.choice([None, True, False, "", " ", "\0", "\u202e", "😀" * 9, "a" * draw.randrange(3000)])
    if kind == 2:
        return draw.randrange(-5, 60000)
    if kind < 6:
        return "The cat " * draw.randrange(9)
    if kind < 8:
        return [value(draw, depth + 1) for _ in range(draw.randrange(5))]
    return {draw.choice("prompt n stop role content text".split()): value(draw, depth + 1) for _ in range(draw.randrange(4))}


def body(draw, path, marker):
    text = f"The {marker} cat sat"
    sound = {
        "/v1/completions": {"prompt": text, "max_tokens": 4, "temperature": 1, "n": 1, "echo": False, "logprobs": None, "stop": None, "stream": False, "seed": 1, "top_p": 1, "top_k": 0},
        "/v1/chat/completions": {"messages": [{"role": "user", "content": text}], "max_tokens": 4, "temperature": 1, "logprobs": False, "top_logprobs": 0, "stream": False},
        "/v1/embeddings": {"input": text, "layer": -1, "pool": "mean", "encoding_format": "float"},
        "/score": {"prefix": text, "continuations": [" on", " off"], "start": "model", "details": {}},
        "/tokenize": {"prompt": text, "add_special_tokens": True},
        "/detokenize": {"tokens": [5, 6, 7]},
    }[path]
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        sound[draw.choice([*sound, "model", "suffix", "tools", "logit_bias", "max_completion_tokens", "prompt_logprobs"])] = value(draw)
    sound = {k: (min(v, 64) if k in ("max_tokens", "max_completion_tokens", "n") and isinstance(v, (int, float)) and 64 < v < 1e6 else v) for k, v in sound.items()}
    data = json.dumps(sound).encode()
    kind = draw.randrange(16)
    if kind == 0:
        data = data[: draw.randrange(len(data))]
    elif kind == 1:
        at = draw.randrange(len(data))
        data = data[:at] + bytes(draw.randrange(256) for _ in range(draw.randrange(1, 9))) + data[at:]
    elif kind == 2:
        data = (b"[" if draw.randrange(2) else b'{"a":') * draw.choice([10, 200, 50000])
    elif kind == 3 and draw.randrange(8) == 0:
        data = data[:-1] + b"," + b",".join(b'"x%d":1' % i for i in range(draw.choice([10, 100000]))) + b"}"
    elif kind == 4 and draw.randrange(8) == 0:
        data = json.dumps({"prompt": draw.choice(["a", "cat ", "\n", "é"]) * draw.choice([10**5, 10**6]), "max_tokens": 1}).encode()
    elif kind == 5 and draw.randrange(8) == 0:
        data = b'{"prompt": [' + b",".join([b"1"] * draw.choice([600, 9000, 400000])) + b'], "max_tokens": 1}'
    return data


def head(draw, path, length, port):
    method = draw.choice(["POST"] * 12 + ["GET", "PUT", "OPTIONS", "BREW"])
    path = draw.choice([path] * 12 + ["/", "/v1/../etc/passwd", path + "?x=" + "y" * 3000, "/%ff%00", "http://evil/" + path])
    lines = [f"{method} {path} HTTP/{draw.choice(['1.1'] * 12 + ['1.0', '0.9', '9.9'])}", f"host: {draw.choice(['127.0.0.1'] * 12 + ['evil.example', '', 'localhost:1:2'])}:{port}"]
    claimed = draw.choice([length] * 14 + [length + 7, max(length - 7, 0), 2**40, -3, "abc"])
    lines.append(f"content-length: {claimed}")
    extra = draw.randrange(20)
    if extra == 0:
        lines += [f"x-{i}: {'v' * 50}" for i in range(draw.choice([5, 90, 200]))]
    elif extra == 1:
        lines.append("x: " + "v" * draw.choice([1000, 20000, 200000]))
    elif extra == 2:
        lines.append("transfer-encoding: chunked")
    elif extra == 3:
        lines.append("expect: 100-continue")
    elif extra == 4:
        lines.append("origin: https://evil.example")
    elif extra == 5:
        lines.append("authorization: Bearer \x01\xff")
    elif extra == 6:
        lines.append("bad header without colon")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def hostile(draw, port, marker):
    """One hostile request in a way of its own; what came back."""
    path = draw.choice(PATHS)
    data = body(draw, path, marker)
    whole = head(draw, path, len(data), port) + data
    way = draw.randrange(10)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as stream:
        try:
            if way == 0:  # leaves in the middle
                stream.sendall(whole[: draw.randrange(len(whole))])
                return b""
            if way == 1:  # leaves before the answer
                stream.sendall(whole)
                return b""
            if way == 2:  # leaves within the answer
                stream.sendall(whole)
                return stream.recv(draw.randrange(1, 60))
            if way == 3:  # slowly
                for at in range(0, min(len(whole), 400), 40):
                    stream.sendall(whole[at : at + 40])
                    time.sleep(0.005)
                stream.sendall(whole[400:])
            elif way == 4:  # several at once
                stream.sendall(whole * draw.randrange(2, 6))
            elif way == 5:  # a reset instead of an end
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                stream.sendall(whole)
                return b""
            else:
                stream.sendall(whole)
            stream.shutdown(socket.SHUT_WR) if way == 6 else None
            stream.settimeout(1.5 if way in (3, 4) else 0.7)
            said = b""
            while more := stream.recv(65536):
                said += more
                if b"\r\n\r\n" in said and way > 6 and (length := re.search(rb"content-length: (\d+)", said)):
                    if len(said.split(b"\r\n\r\n", 1)[1]) >= int(length.group(1)):
                        break
            return said
        except (TimeoutError, OSError):
            return b""


def attack(server, options):
    expected = {i: essence(path, server.ask(path, asked)[1]) for i, (path, asked) in enumerate(good("zq0qz"))}
    for seed in range(60):  # what memory it takes at first is not counted
        hostile(random.Random(seed), server.port, "zq0qz")
    before, wrong, statuses, lock, numbers = server.megabytes(), [], Counter(), threading.Lock(), iter(range(1, options.requests + 1))
    peak = [before]

    def work():
        while (number := next_number()) is not None:
            draw, marker = random.Random(f"{options.seed} {number}"), f"zq{number}qz"
            said = hostile(draw, server.port, marker).decode("utf-8", "replace")
            with lock:
                statuses[said[9:12] if said.startswith("HTTP/1") else "none"] += 1
            if others := set(MARKER.findall(said)) - {marker}:
                wrong.append(f"{number}: words of {others}")
            if number % 10 == 0:
                at = draw.randrange(4)
                path, asked = good("zq0qz")[at]
                try:
                    status, said = server.ask(path, asked)
                except OSError as error:
                    wrong.append(f"{number}: good request: {error}")
                    continue
                if status != 200 or not near(essence(path, said), expected[at]):
                    wrong.append(f"{number}: good request {at}: {status} {said[:300]}")
            if number % 500 == 0:
                peak[0] = max(peak[0], server.megabytes())

    def next_number():
        with lock:
            return next(numbers, None)

    begun = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(options.clients)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    time.sleep(2)
    after = server.megabytes()
    status, page = server.ask("/metrics", None)
    now = re.findall(r'state="(\w+)"} (\d+)', page)
    print(f"{options.requests} hostile requests, seed {options.seed}, {options.clients} clients, {time.monotonic() - begun:.0f} s; {options.requests // 10} good ones between them")
    print(f"answers: {dict(statuses.most_common())}; now {now}")
    print(f"memory {before} MB before, {peak[0]} at most seen, {after} after")
    panics = [line for line in server.log if "panic" in line]
    for line in [*wrong[:10], *panics[:5], *server.log[:3]]:
        print("  ", line.strip())
    return not wrong and not panics and server.process.poll() is None and after - before <= options.grow


def soak(server, options):
    answered, left, wrong, seen, lock = Counter(), Counter(), [], set(), threading.Lock()
    end = time.monotonic() + 60 * options.minutes

    def client(who):
        draw, number = random.Random(f"{options.seed} {who}"), 0
        while time.monotonic() < end:
            number += 1
            marker = f"zq{who:03}{number:07}qz"
            kind = draw.randrange(5)
            shared = "The keys to the cabinet in the old house by the river are lost, and nobody knows where they are. " * 3
            asked = [
                ("/v1/completions", {"prompt": f"{marker} The cat", "max_tokens": 32, "echo": True, "temperature": 1}),
                ("/v1/completions", {"prompt": f"{shared} {marker}", "max_tokens": 4, "echo": True, "temperature": 0}),
                ("/v1/completions", {"prompt": f"{marker} {shared}", "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}),
                ("/v1/completions", {"prompt": f"The cat {marker}", "max_tokens": 24, "stream": True, "temperature": 0}),
                ("/score", {"prefix": shared, "continuations": [f" {marker}", " is here."]}),
            ][kind]
            try:
                if draw.randrange(4) == 0:
                    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stream:
                        data = json.dumps(asked[1]).encode()
                        stream.sendall(b"POST %s HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % (asked[0].encode(), len(data)) + data)
                        time.sleep(draw.random() * 0.5)
                    with lock:
                        left[kind] += 1
                    continue
                status, said = server.ask(*asked, timeout=600)
            except OSError as error:
                wrong.append(f"{marker}: {error!r}")
                continue
            markers = set(MARKER.findall(said.replace('","', "")))
            fine = status == 200 and markers <= {marker}
            fine &= said.count("[DONE]") == 1 if kind == 3 else said.count('"usage"') == 1
            # What is echoed is what this client sent, and no answer comes twice.
            if fine and kind < 3:
                choices, own = json.loads(said)["choices"], json.loads(said)["id"]
                fine = len(choices) == 1 and choices[0]["text"].startswith(asked[1]["prompt"])
                with lock:
                    fine &= own not in seen
                    seen.add(own)
            if not fine:
                wrong.append(f"{marker}, kind {kind}: {status} {said[:200]}")
            with lock:
                answered[kind] += 1

    threads = [threading.Thread(target=client, args=(who,)) for who in range(options.clients)]
    begun = time.monotonic()
    [thread.start() for thread in threads]
    marks = [m for m in (1, 2, 5, 10, 15, 20, 30, 60) if m <= options.minutes]
    for mark in marks:
        time.sleep(max(0, begun + 60 * mark - 2 - time.monotonic()))
        print(f"{mark} min: {server.megabytes()} MB, {sum(answered.values())} answered", flush=True)
    [thread.join() for thread in threads]
    time.sleep(2)
    page = server.ask("/metrics", None)[1]
    counted = sum(int(n) for path, n in re.findall(r'mary_requests_total{path="(/v1/completions|/score)",status="200"} (\d+)', page))
    print(f"{options.clients} clients, {options.minutes} min: {sum(answered.values())} answered {dict(sorted(answered.items()))}, {sum(left.values())} left early, wrong {len(wrong)}")
    print(f"the server counts {counted} answers; now {re.findall('state=.(.*?).} (.*)', page)}; tokens {re.findall('tokens_total{kind=.(.*?).} (.*)', page)}; {server.megabytes()} MB")
    for line in [*wrong[:10], *server.log[:5]]:
        print("  ", line.strip())
    return not wrong and not server.log and server.process.poll() is None


def kills(options):
    """The server keeps nothing: an answer that came is whole and right; what did not come is asked again."""
    lost, done, server = [], Counter(), Server(options.mary, options.model)
    expected = essence("/v1/completions", server.ask(*good("zq0qz")[1])[1])
    state, stop = {"server": server}, threading.Event()

    def client():
        while not stop.is_set():
            try:
                status, said = state["server"].ask(*good("zq0qz")[1])
            except (OSError, http.client.HTTPException):
                done["asked again"] += 1
                time.sleep(0.05)
                continue
            if status != 200 or not near(essence("/v1/completions", said), expected):
                lost.append(said[:200])
            done["answered"] += 1

    threads = [threading.Thread(target=client) for _ in range(options.clients)]
    [thread.start() for thread in threads]
    for _ in range(options.kills):
        time.sleep(2)
        state["server"].process.send_signal(signal.SIGKILL)
        state["server"].process.wait()
        state["server"] = Server(options.mary, options.model)
    time.sleep(2)
    stop.set()
    [thread.join() for thread in threads]
    state["server"].process.kill()
    print(f"killed {options.kills} times under the load of {options.clients} clients: {dict(done)}, wrong or half answers {len(lost)}")
    return not lost and done["answered"] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mary")
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grow", type=int, default=256)
    options = parser.parse_args()
    fine = True
    if options.requests or options.minutes:
        # Slow clients are given up soon; where all is heavy load, patience is in order.
        server = Server(options.mary, options.model, 20 if options.requests else 600)
        try:
            fine &= not options.requests or attack(server, options)
            fine &= not options.minutes or soak(server, options)
        finally:
            server.process.kill()
    if options.kills:
        fine &= kills(options)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
