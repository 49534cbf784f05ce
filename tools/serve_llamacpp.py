"""Serves a GGUF file with llama.cpp's own HTTP server, from the PyPI package xllamacpp.

    pip install xllamacpp
    python tools/serve_llamacpp.py MODEL.gguf [PORT [THREADS]]

Prints `listening http://127.0.0.1:PORT` once it is ready; port 0 takes a free one. Without a number
of threads llama.cpp takes all cores.
"""

import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2]) if len(sys.argv) > 2 else 8080
if len(sys.argv) > 3:
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[3])
params.n_ctx = 4096
params.n_parallel = 2
params.warmup = False
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
while True:
    time.sleep(3600)
