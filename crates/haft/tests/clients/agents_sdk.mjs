// OpenAI's Agents SDK in Node: its agent loop over chat completions and over responses.
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { agent, ask, base, conversation, description, missing, report, token, weather } from "./common.mjs";

// Traces would be sent to OpenAI.
setTracingDisabled(true);
const client = new OpenAI({ baseURL: base, apiKey: token, maxRetries: 0, timeout: 30_000 });
const runner = new Runner({ tracingDisabled: true });

function assistant(kind, calls, { model = agent, providerData } = {}) {
    const execute = ({ city }) => {
        calls.push(`weather(${city})`);
        return weather(city);
    };
    return new Agent({
        name: "test",
        model: new kind(client, model),
        modelSettings: { providerData },
        tools: [tool({ name: "weather", description, parameters: z.object({ city: z.string() }), execute })],
    });
}

async function run(kind, name, more) {
    return (await runner.run(assistant(kind, [], more), ask(name))).finalOutput;
}

async function tools(kind, name) {
    const calls = [];
    const result = await runner.run(assistant(kind, calls), ask(name));
    return { calls, text: result.finalOutput, turns: result.rawResponses.length };
}

async function streamed(kind, name) {
    const calls = [];
    const pieces = [];
    const result = await runner.run(assistant(kind, calls), ask(name), { stream: true });
    for await (const piece of result.toTextStream()) pieces.push(piece);
    await result.completed;
    return { calls, text: result.finalOutput, in_pieces: pieces.length > 1 };
}

async function usage(kind) {
    const [response] = (await runner.run(assistant(kind, []), ask("plain"))).rawResponses;
    return response.usage.inputTokens > 0 && response.usage.outputTokens > 0;
}

async function memory() {
    const more = { providerData: { metadata: { conversation_id: conversation() } } };
    await run(OpenAIChatCompletionsModel, "introduction", more);
    return run(OpenAIChatCompletionsModel, "memory", more);
}

async function responsesMemory() {
    const one = assistant(OpenAIResponsesModel, []);
    const first = await runner.run(one, ask("introduction"));
    const second = await runner.run(one, ask("memory"), { previousResponseId: first.lastResponseId });
    return second.finalOutput;
}

async function refused(kind) {
    try {
        await run(kind, "plain", { model: missing });
    } catch (error) {
        return { class: error.constructor.name, status: error.status, named: error.message.includes(missing) };
    }
    return null;
}

async function every(kind) {
    return {
        plain: await run(kind, "plain"),
        streamed: await streamed(kind, "plain"),
        own_tool: await run(kind, "own_tool"),
        own_tool_streamed: await streamed(kind, "own_tool"),
        tool: await tools(kind, "tool"),
        parallel: await tools(kind, "parallel"),
        mixed: await tools(kind, "mixed"),
        parallel_streamed: await streamed(kind, "parallel"),
        has_usage: await usage(kind),
        missing: await refused(kind),
    };
}

report({
    chat: { ...(await every(OpenAIChatCompletionsModel)), memory: { kept: await memory() } },
    responses: { ...(await every(OpenAIResponsesModel)), memory: await responsesMemory() },
});
