// aimock as the model provider of Haft: an independent fake server that uses script.json.
// Prints its URL, and ends when its standard input is closed.
import { readFileSync } from "node:fs";
import { LLMock } from "@copilotkit/aimock";

const script = Object.values(JSON.parse(readFileSync(new URL("script.json", import.meta.url))));

const text = (content) =>
    typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");

// Token counts with the field names of both OpenAI APIs.
const usage = { prompt_tokens: 12, completion_tokens: 5, input_tokens: 12, output_tokens: 5, total_tokens: 17 };

function respond(request) {
    const response = scripted(request);
    return response.error ? response : { ...response, usage };
}

function scripted(request) {
    if (request.model === "no-such-agent") {
        const message = "The model `no-such-agent` does not exist";
        return { error: { message, type: "invalid_request_error", code: "model_not_found" }, status: 404 };
    }
    const last = request.messages.findLastIndex((message) => message.role === "user");
    const question = text(request.messages[last]?.content);
    const line = script.find((line) => line.ask === question);
    if (!line) return { content: `The script has no line for: ${question}` };

    const results = request.messages.slice(last + 1).filter((message) => message.role === "tool");
    if (results.length > 0) {
        return { content: `${line.answer} ${results.map((message) => text(message.content)).join("; ")}` };
    }
    const has = (call) => (request.tools ?? []).some((tool) => tool.function.name === call.name);
    const calls = (line.calls ?? []).filter(has);
    if (calls.length > 0) {
        const toolCalls = calls.map((call) => ({ name: call.name, arguments: JSON.stringify(call.arguments) }));
        return line.says ? { content: line.says, toolCalls } : { toolCalls };
    }
    const isInHistory = (sentence) => request.messages.some((message) => text(message.content).includes(sentence));
    if (line.after?.every(isInHistory)) return { content: line.remembered };
    return { content: line.alone ?? line.answer };
}

const mock = new LLMock({ port: 0, chunkSize: 8, logLevel: "silent" });
mock.on({ predicate: () => true }, respond);
console.log(await mock.start());
process.stdin.resume().on("end", () => process.exit(0));
