// Calls a tool once at a time; what it answers, how it failed, or that it was stopped.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';

import { api, ApiError, ask, type Schemas, type Violation } from '@/api/client';
import { type Made, outcomeOf as followed, type Task } from '@/api/task';
import { isRecord, type JsonObject } from '@/components/schema-form/schema';

export type Success = Schemas['SuccessfulExecution'];
export type Failed = Schemas['FailedExecution'];

interface Sent {
  sent: JsonObject;
  /** Nothing was called: only what would be sent was asked for. */
  isPreview: boolean;
}

export type Outcome = Sent & (
  | { state: 'success'; result: Success }
  | { state: 'failed'; result: Failed; violations: readonly Violation[] }
  | { state: 'cancelled' }
);

export interface Run {
  call: (sent: JsonObject, isPreview?: boolean) => void;
  cancel: () => void;
  isRunning: boolean;
  /** What runs is the preview, which is over at once. */
  isPreviewing: boolean;
  startedAt: number;
  /** What it waits for as a task, where it is one. */
  waitingFor: string | null;
  outcome: Outcome | undefined;
  /** Where not even a failed call came of it. */
  error: Error | null;
}

export async function execute(tool: string, sent: JsonObject, isPreview: boolean, signal?: AbortSignal, onChange?: (task: Task) => void) {
  const options = { strict: false, dryRun: isPreview };
  const given = await ask<Made>(api.POST('/api/tools/{id}/execute', {
    params: { path: { id: tool } }, body: { arguments: sent, options }, ...(signal === undefined ? {} : { signal }),
  }));
  return followed(given, signal, onChange);
}

function isFailed(value: unknown): value is Failed {
  return isRecord(value) && value['success'] === false && isRecord(value['error']);
}

async function outcomeOf(
  tool: string, sent: JsonObject, isPreview: boolean, signal: AbortSignal, onChange: (task: Task) => void,
): Promise<Outcome> {
  const basis = { sent, isPreview };
  try {
    const result = await execute(tool, sent, isPreview, signal, onChange);
    if (result.success) return { ...basis, state: 'success', result };
    return { ...basis, state: 'failed', result, violations: [] };
  } catch (error) {
    if (signal.aborted) return { ...basis, state: 'cancelled' };
    if (!(error instanceof ApiError) || !isFailed(error.data)) throw error;
    return { ...basis, state: 'failed', result: error.data, violations: error.kind === 'Validation' ? error.violations : [] };
  }
}

export function useRun(tool: string, onOutcome: (outcome: Outcome) => void): Run {
  const ending = useRef<AbortController>(null);
  const [task, setTask] = useState<Task>();
  const mutation = useMutation({
    mutationFn: ({ sent, isPreview }: Sent) => {
      const controller = new AbortController();
      ending.current = controller;
      setTask(undefined);
      return outcomeOf(tool, sent, isPreview, controller.signal, setTask);
    },
    onSuccess: onOutcome,
  });
  return {
    call: (sent, isPreview = false) => mutation.mutate({ sent, isPreview }),
    cancel: () => ending.current?.abort(),
    isRunning: mutation.isPending,
    isPreviewing: mutation.isPending && mutation.variables.isPreview,
    startedAt: mutation.submittedAt,
    waitingFor: task?.waitingFor ?? null,
    outcome: mutation.data,
    error: mutation.error,
  };
}
