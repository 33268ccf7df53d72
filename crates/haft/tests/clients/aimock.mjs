// aimock as the model behind Haft: a fake that is not of our making, with the same script as our own.
// Prints its URL, and ends when its input does.
import { readFileSync } from "node:fs";
import { LLMock } from "@copilotkit/aimock";

const script = Object.values(JSON.parse(readFileSync(new URL("script.json", import.meta.url))));

const text = (content) =>
    typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");

// In the words of both of OpenAI's dialects.
const usage = { prompt_tokens: 12, completion_tokens: 5, input_tokens: 12, output_tokens: 5, total_tokens: 17 };

function answer(request) {
    const said = say(request);
    return said.error ? said : { ...said, usage };
}

function say(request) {
    if (request.model === "no-such-agent") {
        const message = "The model `no-such-agent` does not exist";
        return { error: { message, type: "invalid_request_error", code: "model_not_found" }, status: 404 };
    }
    const last = request.messages.findLastIndex((message) => message.role === "user");
    const asked = text(request.messages[last]?.content);
    const line = script.find((line) => line.ask === asked);
    if (!line) return { content: `Nobody told me what to say to: ${asked}` };

    const told = request.messages.slice(last + 1).filter((message) => message.role === "tool");
    if (told.length > 0) {
        return { content: `${line.answer} ${told.map((message) => text(message.content)).join("; ")}` };
    }
    const has = (call) => (request.tools ?? []).some((tool) => tool.function.name === call.name);
    const calls = (line.calls ?? []).filter(has);
    if (calls.length > 0) {
        const toolCalls = calls.map((call) => ({ name: call.name, arguments: JSON.stringify(call.arguments) }));
        return line.says ? { content: line.says, toolCalls } : { toolCalls };
    }
    const was = (said) => request.messages.some((message) => text(message.content).includes(said));
    if (line.after?.every(was)) return { content: line.remembered };
    return { content: line.alone ?? line.answer };
}

const mock = new LLMock({ port: 0, chunkSize: 8, logLevel: "silent" });
mock.on({ predicate: () => true }, answer);
console.log(await mock.start());
process.stdin.resume().on("end", () => process.exit(0));
