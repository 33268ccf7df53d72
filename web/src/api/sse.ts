// Reads one stream of events to its end, and gives up on one that has fallen silent.
import { createParser, type EventSourceMessage } from 'eventsource-parser';

import { ownHeaders } from './client';

/** The server says something every 15 seconds, if only that it is there. */
const LONGEST_SILENCE = 45_000;

export interface Reading {
  signal: AbortSignal;
  /** The last event that was seen; those after it are told. */
  last: string | undefined;
  onOpen: () => void;
  onEvent: (event: EventSourceMessage) => void;
}

/** What the server said instead of a stream. */
export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
    this.name = 'Refused';
  }
}

export async function readEvents(address: string, { signal, last, onOpen, onEvent }: Reading): Promise<void> {
  const headers = { ...ownHeaders(), ...(last === undefined ? {} : { 'last-event-id': last }) };
  const silence = new AbortController();
  const answer = await fetch(address, { headers, signal: AbortSignal.any([signal, silence.signal]) });
  if (!answer.ok || answer.body === null) throw new Refused(answer.status, answer.statusText);
  onOpen();
  const parser = createParser({ onEvent });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  // After a machine slept, or a network changed, a connection may be dead without saying so.
  const wait = () => setTimeout(() => silence.abort(), LONGEST_SILENCE);
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
