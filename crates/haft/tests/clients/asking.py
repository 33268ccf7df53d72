# What the Python clients share: where to ask, what to ask, and the one line of facts at the end.
import json
import os
import uuid
from pathlib import Path

BASE = os.environ["HAFT_URL"].rstrip("/") + "/v1"
TOKEN = os.environ["HAFT_TOKEN"]
AGENT = os.environ["HAFT_AGENT"]
MISSING = "no-such-agent"

SCRIPT = json.loads((Path(__file__).parent / "script.json").read_text())


def ask(name):
    return SCRIPT[name]["ask"]


def conversation():
    """A conversation that nobody else has."""
    return str(uuid.uuid4())


def weather(city):
    """What the client's own tool says."""
    return f"18 degrees in {city}"


WEATHER = {
    "name": "weather",
    "description": "The weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


def report(**facts):
    print(json.dumps(facts))
