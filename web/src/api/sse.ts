// Reads one event stream to its end, and aborts it when it has been silent for too long.
import { createParser, type EventSourceMessage } from 'eventsource-parser';

import { requestHeaders } from './client';

/** Maximum silence. The server sends a keep-alive every 15 seconds. */
const MAX_SILENCE = 45_000;

export interface Reading {
  signal: AbortSignal;
  /** The id of the last event received; the stream resumes after it. */
  last: string | undefined;
  onOpen: () => void;
  onEvent: (event: EventSourceMessage) => void;
}

/** An error response instead of a stream. */
export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
    this.name = 'Refused';
  }
}

export async function readEvents(address: string, { signal, last, onOpen, onEvent }: Reading): Promise<void> {
  const headers = { ...requestHeaders(), ...(last === undefined ? {} : { 'last-event-id': last }) };
  const silence = new AbortController();
  const answer = await fetch(address, { headers, signal: AbortSignal.any([signal, silence.signal]) });
  if (!answer.ok || answer.body === null) throw new Refused(answer.status, answer.statusText);
  onOpen();
  const parser = createParser({ onEvent });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  // After sleep or a network change a connection may be dead without an error.
  const wait = () => setTimeout(() => silence.abort(), MAX_SILENCE);
  let patience = wait();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(patience);
      patience = wait();
      parser.feed(part.value);
    }
  } finally {
    clearTimeout(patience);
  }
}
