// OpenAI's Node library: chat completions with its own tool runner, and responses.
import OpenAI from "openai";
import { agent, ask, base, conversation, description, missing, parameters, report, token, weather } from "./common.mjs";

const client = new OpenAI({ baseURL: base, apiKey: token, maxRetries: 0, timeout: 30_000 });
const user = (name) => ({ role: "user", content: ask(name) });
const complete = (messages, more) => client.chat.completions.create({ model: agent, messages, ...more });
const chat = async (name, more) => (await complete([user(name)], more)).choices[0].message.content;

async function chatStreamed(name) {
    const pieces = [];
    let finish, usage;
    for await (const chunk of await complete([user(name)], { stream: true, stream_options: { include_usage: true } })) {
        usage = chunk.usage ?? usage;
        for (const choice of chunk.choices) {
            pieces.push(choice.delta.content ?? "");
            finish = choice.finish_reason ?? finish;
        }
    }
    return {
        text: pieces.join(""),
        in_pieces: pieces.filter(Boolean).length > 1,
        finish,
        has_usage: usage?.total_tokens > 0,
    };
}

/** Lets the library execute the calls of the model until there are no more. */
async function chatTools(name, stream) {
    const calls = [];
    const run = (given) => {
        const { city } = JSON.parse(given);
        calls.push(`weather(${city})`);
        return weather(city);
    };
    const tool = { type: "function", function: { name: "weather", description, parameters, function: run } };
    const runner = client.chat.completions.runTools({ model: agent, messages: [user(name)], tools: [tool], stream });
    return { calls, text: await runner.finalContent() };
}

async function chatMemory() {
    const metadata = { conversation_id: conversation() };
    await chat("introduction", { metadata });
    return { kept: await chat("memory", { metadata }), alone: await chat("memory") };
}

async function chatUsage() {
    const { usage } = await complete([user("plain")]);
    return usage.prompt_tokens > 0 && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens;
}

const respond = (input, more) => client.responses.create({ model: agent, input, ...more });

async function responsesStreamed(name) {
    const pieces = [];
    const stream = client.responses.stream({ model: agent, input: ask(name) });
    stream.on("response.output_text.delta", (event) => pieces.push(event.delta));
    const done = await stream.finalResponse();
    return {
        text: done.output_text,
        same: pieces.join("") === done.output_text,
        in_pieces: pieces.length > 1,
        status: done.status,
        has_usage: done.usage.total_tokens > 0,
    };
}

async function responsesTools(name, isStreamed) {
    const tools = [{ type: "function", name: "weather", description, parameters, strict: true }];
    const items = [user(name)];
    const calls = [];
    for (;;) {
        const response = isStreamed
            ? await client.responses.stream({ model: agent, input: items, tools }).finalResponse()
            : await respond(items, { tools });
        const requested = response.output.filter((item) => item.type === "function_call");
        if (requested.length === 0) return { calls, text: response.output_text };
        // Sends the items back unchanged, like the library's examples.
        items.push(...response.output);
        for (const call of requested) {
            const { city } = JSON.parse(call.arguments);
            calls.push(`weather(${city})`);
            items.push({ type: "function_call_output", call_id: call.call_id, output: weather(city) });
        }
    }
}

async function responsesUsage() {
    const { usage } = await respond(ask("plain"));
    return usage.input_tokens > 0 && usage.total_tokens === usage.input_tokens + usage.output_tokens;
}

async function responsesMemory() {
    const first = await respond(ask("introduction"));
    return (await respond(ask("memory"), { previous_response_id: first.id })).output_text;
}

async function refused(act) {
    try {
        await act();
    } catch (error) {
        return {
            class: error.constructor.name,
            status: error.status,
            code: error.code,
            named: error.message.includes(missing),
        };
    }
    return null;
}

const listed = [];
for await (const model of client.models.list()) listed.push(model.id);

report({
    chat: {
        plain: await chat("plain"),
        streamed: await chatStreamed("plain"),
        own_tool: await chat("own_tool"),
        own_tool_streamed: await chatStreamed("own_tool"),
        tool: await chatTools("tool", false),
        parallel: await chatTools("parallel", false),
        mixed: await chatTools("mixed", false),
        parallel_streamed: await chatTools("parallel", true),
        memory: await chatMemory(),
        has_usage: await chatUsage(),
        missing: await refused(() => client.chat.completions.create({ model: missing, messages: [user("plain")] })),
    },
    responses: {
        plain: (await respond(ask("plain"))).output_text,
        streamed: await responsesStreamed("plain"),
        own_tool: (await respond(ask("own_tool"))).output_text,
        own_tool_streamed: await responsesStreamed("own_tool"),
        tool: await responsesTools("tool"),
        parallel: await responsesTools("parallel"),
        mixed: await responsesTools("mixed"),
        parallel_streamed: await responsesTools("parallel", true),
        has_usage: await responsesUsage(),
        memory: await responsesMemory(),
        missing: await refused(() => client.responses.create({ model: missing, input: "hello" })),
    },
    listed: listed.includes(agent),
    stranger: await refused(() => client.withOptions({ apiKey: "wrong" }).models.list()),
});
