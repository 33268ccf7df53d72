# Structured output with instructor: its default, a tool that has to be called, and its two response formats.
import instructor
import openai
from pydantic import BaseModel
from common import AGENT, BASE, TOKEN, ask, report


class Record(BaseModel):
    city: str
    degrees: int


def record(mode, name="record"):
    client = instructor.from_openai(openai.OpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=30), mode=mode)
    messages = [{"role": "user", "content": ask(name)}]
    return client.chat.completions.create(model=AGENT, messages=messages, response_model=Record, max_retries=0).model_dump()


report(libraries={
    "json_schema": record(instructor.Mode.JSON_SCHEMA),
    "json_schema record_repaired": record(instructor.Mode.JSON_SCHEMA, "record_repaired"),
    "json": record(instructor.Mode.JSON),
    "tools": record(instructor.Mode.TOOLS),
})
