// A fake OpenAI server with streaming, whose responses a test sets.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelRequest {
  model: string;
  messages: { role: string; content: unknown; tool_call_id?: string }[];
  tools?: { function: { name: string } }[];
}

export interface ModelReply {
  /** The response text in pieces; a promise among them delays the rest. */
  text?: string | readonly (string | Promise<unknown>)[];
  reasoning?: string;
  calls?: readonly { name: string; arguments: unknown }[];
  /** Refuses the request with this status and message. */
  refused?: { status: number; message: string };
}

export class Model {
  readonly requests: ModelRequest[] = [];
  /** Responses to the next requests. The last response is repeated. */
  replies: ModelReply[] = [{ text: 'Hello.' }];
  private calls = 0;

  private constructor(private readonly server: Server, readonly url: string) {}

  static async start(): Promise<Model> {
    const server = createServer();
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const { port } = server.address() as AddressInfo;
    const model = new Model(server, `http://127.0.0.1:${port}/v1`);
    server.on('request', (request, response) => void model.answer(request, response));
    return model;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/models') === true) {
      json(response, 200, { object: 'list', data: [{ id: 'small', object: 'model' }] });
      return;
    }
    let body = '';
    for await (const part of request) body += String(part);
    this.requests.push(JSON.parse(body) as ModelRequest);
    const next = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
    if (next?.refused !== undefined) json(response, next.refused.status, { error: { message: next.refused.message } });
    else await this.stream(response, next ?? {});
  }

  private async stream(response: ServerResponse, { text = [], reasoning, calls = [] }: ModelReply): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const tell = (choices: unknown[], more: object = {}) => response.write(
      `data: ${JSON.stringify({ id: 'answer', object: 'chat.completion.chunk', created: 0, model: 'small', choices, ...more })}\n\n`,
    );
    const say = (delta: object) => tell([{ index: 0, delta, finish_reason: null }]);
    say({ role: 'assistant' });
    if (reasoning !== undefined) say({ reasoning_content: reasoning });
    for (const piece of typeof text === 'string' ? [text] : text) {
      if (typeof piece === 'string') say({ content: piece });
      else await piece;
    }
    calls.forEach((call, index) => {
      this.calls += 1;
      say({ tool_calls: [{ index, id: `call_${this.calls}`, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } }] });
    });
    tell([{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }]);
    tell([], { usage: { prompt_tokens: 412, completion_tokens: 38, total_tokens: 450 } });
    response.end('data: [DONE]\n\n');
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** A promise, and the function that resolves it. */
export function gate(): { wait: Promise<void>; open: () => void } {
  let open = () => {};
  const wait = new Promise<void>((done) => (open = done));
  return { wait, open };
}
