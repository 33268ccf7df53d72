// Structured output in Node, as each library requests it: openai, Vercel's AI SDK, OpenAI's Agents SDK.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled } from "@openai/agents";
import { generateObject, generateText, Output, streamObject } from "ai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { agent, ask, base, report, token } from "./common.mjs";

setTracingDisabled(true);
const Record = z.object({ city: z.string(), degrees: z.number().int() });
const client = new OpenAI({ baseURL: base, apiKey: token, maxRetries: 0, timeout: 30_000 });
const format = zodResponseFormat(Record, "record");
const messages = (name) => [{ role: "user", content: ask(name) }];

async function chat(name) {
    const answer = await client.chat.completions.parse({ model: agent, messages: messages(name), response_format: format });
    const { parsed, refusal } = answer.choices[0].message;
    return { parsed, refused: refusal !== null };
}

async function chatStreamed(name) {
    const stream = client.chat.completions.stream({ model: agent, messages: messages(name), response_format: format });
    const { parsed, refusal } = (await stream.finalChatCompletion()).choices[0].message;
    return { parsed, refused: Boolean(refusal) };
}

async function responses(name) {
    const text = { format: zodTextFormat(Record, "record") };
    const answer = await client.responses.parse({ model: agent, input: ask(name), text });
    const parts = answer.output.flatMap((item) => item.content ?? []);
    return { parsed: answer.output_parsed, refused: parts.some((part) => part.type === "refusal") };
}

async function responsesStreamed(name) {
    const text = { format: zodTextFormat(Record, "record") };
    let refused = false;
    const stream = client.responses.stream({ model: agent, input: ask(name), text });
    stream.on("response.refusal.done", () => { refused = true; });
    return { parsed: (await stream.finalResponse()).output_parsed, refused };
}

const compatible = createOpenAICompatible({ name: "haft", baseURL: base, apiKey: token, supportsStructuredOutputs: true });
const vercel = createOpenAI({ baseURL: base, apiKey: token });

async function objectOf(model, name) {
    return (await generateObject({ model, schema: Record, prompt: ask(name), maxRetries: 0 })).object;
}

async function objectStreamed(model, name) {
    const result = streamObject({ model, schema: Record, prompt: ask(name), maxRetries: 0, onError: () => {} });
    for await (const _ of result.partialObjectStream);
    return result.object;
}

async function output(model, name) {
    const result = await generateText({ model, output: Output.object({ schema: Record }), prompt: ask(name), maxRetries: 0 });
    return result.output;
}

async function agentsSdk(Model, name) {
    const one = new Agent({ name: "test", model: new Model(client, agent), outputType: Record });
    return (await run(one, ask(name))).finalOutput;
}

const facts = {};
for (const name of ["record", "record_repaired", "record_never"]) {
    facts[name] = {
        chat: await chat(name),
        chat_streamed: await chatStreamed(name),
        responses: await responses(name),
        responses_streamed: await responsesStreamed(name),
    };
}
facts.libraries = {};
for (const name of ["record", "record_repaired"]) {
    Object.assign(facts.libraries, {
        [`vercel_chat ${name}`]: await objectOf(compatible(agent), name),
        [`vercel_chat_streamed ${name}`]: await objectStreamed(compatible(agent), name),
        [`vercel_output ${name}`]: await output(compatible(agent), name),
        [`vercel_responses ${name}`]: await objectOf(vercel.responses(agent), name),
        [`vercel_responses_streamed ${name}`]: await objectStreamed(vercel.responses(agent), name),
        [`agents_chat ${name}`]: await agentsSdk(OpenAIChatCompletionsModel, name),
        [`agents_responses ${name}`]: await agentsSdk(OpenAIResponsesModel, name),
    });
}
report(facts);
