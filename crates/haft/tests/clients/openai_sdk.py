# OpenAI's Python library: chat completions and responses.
# (Not called openai.py: Python would import it instead of the library.)
import json

import openai
from common import AGENT, BASE, MISSING, TOKEN, WEATHER, ask, conversation, report, weather

client = openai.OpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=30)
FUNCTION = {"type": "function", "function": WEATHER}


def user(name):
    return {"role": "user", "content": ask(name)}


def complete(messages, **more):
    return client.chat.completions.create(model=AGENT, messages=messages, **more)


def chat(name, **more):
    return complete([user(name)], **more).choices[0].message.content


def chat_streamed(name):
    pieces, finish, usage = [], None, None
    options = {"include_usage": True}
    for chunk in complete([user(name)], stream=True, stream_options=options):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            pieces.append(choice.delta.content or "")
            finish = choice.finish_reason or finish
    return {
        "text": "".join(pieces),
        "in_pieces": sum(map(bool, pieces)) > 1,
        "finish": finish,
        "has_usage": usage is not None and usage.total_tokens > 0,
    }


def chat_tools(name):
    """Executes the calls of the model until there are no more."""
    messages, called = [user(name)], []
    while True:
        choice = complete(messages, tools=[FUNCTION]).choices[0]
        if choice.finish_reason != "tool_calls":
            return {"calls": called, "text": choice.message.content}
        messages.append(choice.message)
        for call in choice.message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            called.append(f"{call.function.name}({city})")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": weather(city)})


def chat_tools_streamed(name):
    """Executes the calls of streamed completions, which the library's helper assembles."""
    messages, called = [user(name)], []
    while True:
        with client.chat.completions.stream(model=AGENT, messages=messages, tools=[FUNCTION]) as stream:
            choice = stream.get_final_completion().choices[0]
        if choice.finish_reason != "tool_calls":
            return {"calls": called, "text": choice.message.content}
        message = choice.message.to_dict()
        messages.append({"role": "assistant", "tool_calls": [
            {key: call[key] for key in ("id", "type", "function")} for call in message["tool_calls"]
        ]})
        for call in choice.message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            called.append(f"{call.function.name}({city})")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": weather(city)})


def chat_memory():
    metadata = {"conversation_id": conversation()}
    chat("introduction", metadata=metadata)
    return {"kept": chat("memory", metadata=metadata), "alone": chat("memory")}


def chat_usage():
    usage = complete([user("plain")]).usage
    return usage.prompt_tokens > 0 and usage.completion_tokens > 0 and (
        usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    )


def respond(given, **more):
    return client.responses.create(model=AGENT, input=given, **more)


def responses_streamed(name):
    pieces, done, kinds = [], None, set()
    for event in respond(ask(name), stream=True):
        kinds.add(event.type)
        if event.type == "response.output_text.delta":
            pieces.append(event.delta)
        if event.type == "response.completed":
            done = event.response
    return {
        "text": done.output_text,
        "same": "".join(pieces) == done.output_text,
        "in_pieces": len(pieces) > 1,
        "status": done.status,
        "has_usage": done.usage.total_tokens > 0,
        "kinds": sorted(kinds),
    }


def responses_tools(name, streamed=False):
    """Sends the complete history with each request: the server need not store anything."""
    tool = {"type": "function", "strict": True, **WEATHER}
    items, called = [user(name)], []
    while True:
        if streamed:
            with client.responses.stream(model=AGENT, input=items, tools=[tool]) as stream:
                response = stream.get_final_response()
        else:
            response = respond(items, tools=[tool])
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return {"calls": called, "text": response.output_text}
        for call in calls:
            items.append({key: getattr(call, key) for key in ("type", "call_id", "name", "arguments")})
        for call in calls:
            city = json.loads(call.arguments)["city"]
            called.append(f"{call.name}({city})")
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": weather(city)})


def responses_usage():
    usage = respond(ask("plain")).usage
    return usage.input_tokens > 0 and usage.total_tokens == usage.input_tokens + usage.output_tokens


def responses_memory():
    """The server stores the conversation."""
    first = respond(ask("introduction"))
    return respond(ask("memory"), previous_response_id=first.id).output_text


def responses_tools_kept(name):
    """The server stores the call: only the result is sent."""
    tool = {"type": "function", "strict": True, **WEATHER}
    first = respond(ask(name), tools=[tool])
    outputs = [
        {"type": "function_call_output", "call_id": item.call_id, "output": weather(json.loads(item.arguments)["city"])}
        for item in first.output
        if item.type == "function_call"
    ]
    return respond(outputs, tools=[tool], previous_response_id=first.id).output_text


def refused(act):
    try:
        act()
    except openai.APIStatusError as error:
        return {
            "class": type(error).__name__,
            "status": error.status_code,
            "code": error.code,
            "named": MISSING in error.message,
        }
    return None


def missing():
    return client.chat.completions.create(model=MISSING, messages=[user("plain")])


def missing_streamed():
    return list(client.chat.completions.create(model=MISSING, messages=[user("plain")], stream=True))


def stranger():
    return client.with_options(api_key="wrong").models.list()


report(
    chat={
        "plain": chat("plain"),
        "streamed": chat_streamed("plain"),
        "own_tool": chat("own_tool"),
        "own_tool_streamed": chat_streamed("own_tool"),
        "tool": chat_tools("tool"),
        "parallel": chat_tools("parallel"),
        "mixed": chat_tools("mixed"),
        "parallel_streamed": chat_tools_streamed("parallel"),
        "memory": chat_memory(),
        "has_usage": chat_usage(),
        "missing": refused(missing),
        "missing_streamed": refused(missing_streamed),
    },
    responses={
        "plain": respond(ask("plain")).output_text,
        "streamed": responses_streamed("plain"),
        "own_tool": respond(ask("own_tool")).output_text,
        "own_tool_streamed": responses_streamed("own_tool"),
        "tool": responses_tools("tool"),
        "parallel": responses_tools("parallel"),
        "mixed": responses_tools("mixed"),
        "parallel_streamed": responses_tools("parallel", streamed=True),
        "memory": responses_memory(),
        "tool_kept": responses_tools_kept("tool"),
        "has_usage": responses_usage(),
        "missing": refused(lambda: client.responses.create(model=MISSING, input="hello")),
    },
    listed=AGENT in [model.id for model in client.models.list()],
    stranger=refused(stranger),
)
