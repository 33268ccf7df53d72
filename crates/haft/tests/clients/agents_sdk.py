# OpenAI's Agents SDK in Python: its agent loop over chat completions and over responses.
import asyncio

import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from agents import set_tracing_disabled
from common import AGENT, BASE, MISSING, TOKEN, ask, conversation, report, weather

# Traces would be sent to OpenAI.
set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=30)


def assistant(kind, called, model=AGENT, **settings):
    @function_tool(name_override="weather")
    def look(city: str) -> str:
        """The weather in a city."""
        called.append(f"weather({city})")
        return weather(city)

    model = kind(model=model, openai_client=client)
    return Agent(name="test", model=model, tools=[look], model_settings=ModelSettings(include_usage=True, **settings))


async def run(kind, name, **settings):
    return (await Runner.run(assistant(kind, [], **settings), ask(name))).final_output


async def tools(kind, name):
    called = []
    result = await Runner.run(assistant(kind, called), ask(name))
    return {"calls": called, "text": result.final_output, "turns": len(result.raw_responses)}


async def streamed(kind, name):
    called, pieces = [], 0
    result = Runner.run_streamed(assistant(kind, called), ask(name))
    async for event in result.stream_events():
        pieces += event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    return {"calls": called, "text": result.final_output, "in_pieces": pieces > 1}


async def usage(kind):
    used = (await Runner.run(assistant(kind, []), ask("plain"))).context_wrapper.usage
    return used.input_tokens > 0 and used.output_tokens > 0


async def memory():
    metadata = {"conversation_id": conversation()}
    await run(OpenAIChatCompletionsModel, "introduction", metadata=metadata)
    return await run(OpenAIChatCompletionsModel, "memory", metadata=metadata)


async def responses_memory():
    """The server stores the conversation, including calls and results."""
    agent = assistant(OpenAIResponsesModel, [])
    first = await Runner.run(agent, ask("introduction"))
    second = await Runner.run(agent, ask("tool"), previous_response_id=first.last_response_id)
    third = await Runner.run(agent, ask("memory"), previous_response_id=second.last_response_id)
    return third.final_output


async def refused(kind):
    try:
        await Runner.run(assistant(kind, [], model=MISSING), ask("plain"))
    except openai.APIStatusError as error:
        return {"class": type(error).__name__, "status": error.status_code, "named": MISSING in error.message}
    return None


async def every(kind):
    return {
        "plain": await run(kind, "plain"),
        "streamed": await streamed(kind, "plain"),
        "own_tool": await run(kind, "own_tool"),
        "own_tool_streamed": await streamed(kind, "own_tool"),
        "tool": await tools(kind, "tool"),
        "parallel": await tools(kind, "parallel"),
        "mixed": await tools(kind, "mixed"),
        "parallel_streamed": await streamed(kind, "parallel"),
        "has_usage": await usage(kind),
        "missing": await refused(kind),
    }


async def main():
    chat, responses = await every(OpenAIChatCompletionsModel), await every(OpenAIResponsesModel)
    report(
        chat={**chat, "memory": {"kept": await memory()}},
        responses={**responses, "memory": await responses_memory()},
    )


asyncio.run(main())
