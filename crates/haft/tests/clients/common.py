# Shared by the Python clients: the server's address, the questions, and the line of JSON that reports the results.
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
    """Returns a new conversation id."""
    return str(uuid.uuid4())


def weather(city):
    """Returns the result of the client's own tool."""
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
