# Structured output in Python, as each library requests it by default: openai, openai-agents, langchain, pydantic-ai.
# The default of pydantic-ai is the tool output; its native output is a response format.
import asyncio

import openai
from agents import Agent as SdkAgent
from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel as PydanticResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from common import AGENT, BASE, TOKEN, ask, report

set_tracing_disabled(True)


class Record(BaseModel):
    city: str = Field(description="Its name.")
    degrees: int


client = openai.OpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=30)
later = openai.AsyncOpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=30)


def user(name):
    return [{"role": "user", "content": ask(name)}]


def openai_chat(name):
    answer = client.chat.completions.parse(model=AGENT, messages=user(name), response_format=Record)
    message = answer.choices[0].message
    return {"parsed": message.parsed and message.parsed.model_dump(), "refused": message.refusal is not None}


def openai_chat_streamed(name):
    refused, pieces = False, []
    with client.chat.completions.stream(model=AGENT, messages=user(name), response_format=Record) as stream:
        for event in stream:
            refused = refused or event.type == "refusal.done"
            if event.type == "content.delta":
                pieces.append(event.delta)
        message = stream.get_final_completion().choices[0].message
    same = "".join(pieces) == (message.content or "")
    return {"parsed": message.parsed and message.parsed.model_dump(), "refused": refused, "same": same}


def openai_object(name):
    answer = client.chat.completions.create(
        model=AGENT, messages=user(name) + [{"role": "system", "content": "Answer in JSON."}],
        response_format={"type": "json_object"},
    )
    return Record.model_validate_json(answer.choices[0].message.content).model_dump()


def openai_responses(name):
    answer = client.responses.parse(model=AGENT, input=ask(name), text_format=Record)
    refused = any(part.type == "refusal" for item in answer.output if item.type == "message" for part in item.content)
    return {"parsed": answer.output_parsed and answer.output_parsed.model_dump(), "refused": refused}


def openai_responses_streamed(name):
    kinds = set()
    with client.responses.stream(model=AGENT, input=ask(name), text_format=Record) as stream:
        for event in stream:
            kinds.add(event.type)
        answer = stream.get_final_response()
    refused = "response.refusal.done" in kinds
    return {"parsed": answer.output_parsed and answer.output_parsed.model_dump(), "refused": refused}


async def agents_sdk(kind, name):
    agent = SdkAgent(name="test", model=kind(model=AGENT, openai_client=later), output_type=Record)
    return (await Runner.run(agent, ask(name))).final_output.model_dump()


async def pydantic_ai(kind, output_type, name):
    model = kind(AGENT, provider=OpenAIProvider(openai_client=later))
    agent = PydanticAgent(model, output_type=output_type)
    return (await agent.run(ask(name))).output.model_dump()


def langchain(name, use_responses_api):
    model = ChatOpenAI(
        model=AGENT, base_url=BASE, api_key=TOKEN, max_retries=0, use_responses_api=use_responses_api
    )
    return model.with_structured_output(Record).invoke(ask(name)).model_dump()


async def main():
    facts = {}
    for name in ["record", "record_repaired", "record_never"]:
        facts[name] = {
            "chat": openai_chat(name),
            "chat_streamed": openai_chat_streamed(name),
            "responses": openai_responses(name),
            "responses_streamed": openai_responses_streamed(name),
        }
    # Haft repairs neither JSON objects, which need not match the schema, nor arguments of a tool.
    libraries = {
        "openai_object": openai_object("record"),
        "pydantic_ai_chat_tool": await pydantic_ai(OpenAIChatModel, Record, "record"),
        "pydantic_ai_responses_tool": await pydantic_ai(PydanticResponsesModel, Record, "record"),
    }
    native = NativeOutput(Record)
    for name in ["record", "record_repaired"]:
        libraries |= {
            f"agents_chat {name}": await agents_sdk(OpenAIChatCompletionsModel, name),
            f"agents_responses {name}": await agents_sdk(OpenAIResponsesModel, name),
            f"pydantic_ai_chat {name}": await pydantic_ai(OpenAIChatModel, native, name),
            f"pydantic_ai_responses {name}": await pydantic_ai(PydanticResponsesModel, native, name),
            f"langchain_chat {name}": langchain(name, False),
            f"langchain_responses {name}": langchain(name, True),
        }
    report(**facts, libraries=libraries)


asyncio.run(main())
