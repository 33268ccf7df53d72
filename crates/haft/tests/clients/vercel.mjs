// Vercel's AI SDK: its provider for OpenAI-compatible servers, and its OpenAI provider on responses.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { agent, ask, base, conversation, description, missing, report, token, weather } from "./common.mjs";

const compatible = createOpenAICompatible({ name: "haft", baseURL: base, apiKey: token, includeUsage: true });
const openai = createOpenAI({ baseURL: base, apiKey: token });
const common = { maxRetries: 0, stopWhen: stepCountIs(5) };

function withWeather() {
    const calls = [];
    const execute = ({ city }) => {
        calls.push(`weather(${city})`);
        return weather(city);
    };
    return { calls, tools: { weather: tool({ description, inputSchema: z.object({ city: z.string() }), execute }) } };
}

async function plain(model, name, more) {
    return (await generateText({ ...common, model, prompt: ask(name), ...more })).text;
}

async function streamed(model, name) {
    const pieces = [];
    const errors = [];
    const result = streamText({ ...common, model, prompt: ask(name), onError: ({ error }) => errors.push(`${error}`) });
    for await (const piece of result.textStream) pieces.push(piece);
    return {
        text: pieces.join(""),
        in_pieces: pieces.length > 1,
        finish: await result.finishReason,
        has_usage: (await result.totalUsage).totalTokens > 0,
        errors,
    };
}

async function tools(model, name) {
    const { calls, tools } = withWeather();
    const { text, steps } = await generateText({ ...common, model, prompt: ask(name), tools });
    return { calls, text, steps: steps.length };
}

async function toolsStreamed(model, name) {
    const { calls, tools } = withWeather();
    const result = streamText({ ...common, model, prompt: ask(name), tools, onError: () => {} });
    const kinds = new Set();
    for await (const part of result.fullStream) kinds.add(part.type);
    return { calls, text: await result.text, steps: (await result.steps).length, failed: kinds.has("error") };
}

async function memory() {
    // The SDK adds unknown options to the body unchanged.
    const providerOptions = { haft: { metadata: { conversation_id: conversation() } } };
    await plain(compatible(agent), "introduction", { providerOptions });
    return { kept: await plain(compatible(agent), "memory", { providerOptions }), alone: await plain(compatible(agent), "memory") };
}

async function responsesMemory() {
    const first = await generateText({ ...common, model: openai.responses(agent), prompt: ask("introduction") });
    const previousResponseId = first.providerMetadata.openai.responseId;
    return plain(openai.responses(agent), "memory", { providerOptions: { openai: { previousResponseId } } });
}

/** Continues the SDK's own history. On responses, the SDK sends ids of earlier items instead of their content. */
async function history(model) {
    const messages = [{ role: "user", content: ask("introduction") }];
    const first = await generateText({ ...common, model, messages });
    messages.push(...first.response.messages, { role: "user", content: ask("memory") });
    return (await generateText({ ...common, model, messages })).text;
}

async function usage(model) {
    const { totalUsage } = await generateText({ ...common, model, prompt: ask("plain") });
    return totalUsage.inputTokens > 0 && totalUsage.outputTokens > 0;
}

async function refused(model) {
    try {
        await generateText({ ...common, model, prompt: ask("plain") });
    } catch (error) {
        return {
            is_api_call_error: APICallError.isInstance(error),
            status: error.statusCode,
            named: error.message.includes(missing),
        };
    }
    return null;
}

async function all(model) {
    return {
        plain: await plain(model, "plain"),
        streamed: await streamed(model, "plain"),
        own_tool: await plain(model, "own_tool"),
        own_tool_streamed: await streamed(model, "own_tool"),
        tool: await tools(model, "tool"),
        parallel: await tools(model, "parallel"),
        mixed: await tools(model, "mixed"),
        parallel_streamed: await toolsStreamed(model, "parallel"),
        history: await history(model),
        has_usage: await usage(model),
    };
}

report({
    chat: { ...(await all(compatible(agent))), memory: await memory(), missing: await refused(compatible(missing)) },
    responses: {
        ...(await all(openai.responses(agent))),
        memory: await responsesMemory(),
        missing: await refused(openai.responses(missing)),
    },
});
