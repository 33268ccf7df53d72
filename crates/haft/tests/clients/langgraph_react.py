# LangGraph's ReAct agent (`create_agent`, formerly `create_react_agent`) with LangChain's OpenAI model.
import openai
from common import AGENT, BASE, MISSING, TOKEN, ask, conversation, report, weather
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


def model(name=AGENT, **more):
    return ChatOpenAI(model=name, base_url=BASE, api_key=TOKEN, max_retries=0, timeout=30, **more)


def agent(model):
    called = []

    @tool("weather")
    def look(city: str) -> str:
        """The weather in a city."""
        called.append(f"weather({city})")
        return weather(city)

    return create_agent(model, tools=[look]), called


def user(name):
    return {"messages": [{"role": "user", "content": ask(name)}]}


def tools(model, name):
    graph, called = agent(model)
    messages = graph.invoke(user(name))["messages"]
    # Parallel calls may be executed in any order.
    return {"calls": sorted(called), "text": messages[-1].text, "messages": len(messages)}


def streamed(model, name):
    """Streams the graph and reports the text of the last message."""
    graph, called = agent(model)
    pieces = {}
    for chunk, _ in graph.stream(user(name), stream_mode="messages"):
        if isinstance(chunk, AIMessageChunk) and chunk.text:
            pieces.setdefault(chunk.id, []).append(chunk.text)
    last = list(pieces.values())[-1]
    return {"calls": sorted(called), "text": "".join(last), "in_pieces": len(last) > 1}


def memory():
    # LangChain's own `metadata` parameter is for tracing and is not sent.
    kept = model(extra_body={"metadata": {"conversation_id": conversation()}})
    kept.invoke(ask("introduction"))
    return {"kept": kept.invoke(ask("memory")).text, "alone": model().invoke(ask("memory")).text}


def responses_memory():
    one = model(use_responses_api=True)
    first = one.invoke(ask("introduction"))
    return one.invoke(ask("memory"), previous_response_id=first.response_metadata["id"]).text


def usage(model):
    def is_counted(message):
        used = message.usage_metadata
        return used is not None and used["input_tokens"] > 0 and used["output_tokens"] > 0

    total = None
    for chunk in model.stream(ask("plain")):
        total = chunk if total is None else total + chunk
    return is_counted(model.invoke(ask("plain"))) and is_counted(total)


def refused(model):
    try:
        model.invoke(ask("plain"))
    except openai.APIStatusError as error:
        return {"class": type(error).__name__, "status": error.status_code, "named": MISSING in error.message}
    return None


def every(**more):
    one = model(stream_usage=True, **more)
    return {
        "plain": one.invoke(ask("plain")).text,
        "streamed": streamed(one, "plain"),
        "own_tool": tools(one, "own_tool")["text"],
        "own_tool_streamed": streamed(one, "own_tool"),
        "tool": tools(one, "tool"),
        "parallel": tools(one, "parallel"),
        "mixed": tools(one, "mixed"),
        "parallel_streamed": streamed(one, "parallel"),
        "has_usage": usage(one),
        "missing": refused(model(MISSING, **more)),
    }


report(
    chat={**every(), "memory": memory()},
    responses={**every(use_responses_api=True), "memory": responses_memory()},
)
