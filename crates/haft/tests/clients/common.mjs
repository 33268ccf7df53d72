// Shared by the Node clients: the server's address, the questions, and the line of JSON that reports the results.
import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

export const base = `${process.env.HAFT_URL.replace(/\/$/, "")}/v1`;
export const token = process.env.HAFT_TOKEN;
export const agent = process.env.HAFT_AGENT;
export const missing = "no-such-agent";

const script = JSON.parse(readFileSync(new URL("script.json", import.meta.url)));
export const ask = (name) => script[name].ask;

/** Returns a new conversation id. */
export const conversation = () => randomUUID();

/** Returns the result of the client's own tool. */
export const weather = (city) => `18 degrees in ${city}`;
export const parameters = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
};
export const description = "The weather in a city.";

export const report = (facts) => console.log(JSON.stringify(facts));
