// Runs one call of a tool at a time, with its outcome: success, failure or cancellation.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';

import { api, ApiError, ask, type Schemas, type Violation } from '@/api/client';
import { type ExecuteResponse, outcomeOf as followed, type Task } from '@/api/task';
import { isRecord, type JsonObject } from '@/components/schema-form/schema';

export type Success = Schemas['SuccessfulExecution'];
export type Failed = Schemas['FailedExecution'];

interface Sent {
  sent: JsonObject;
  /** A dry run: the request was generated but not sent. */
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
  /** The running request is a preview, which ends immediately. */
  isPreviewing: boolean;
  startedAt: number;
  /** The reason for which the task is waiting; null if it is not waiting or not a task. */
  waitingFor: string | null;
  outcome: Outcome | undefined;
  /** The error of a request that did not result in a call. */
  error: Error | null;
}

export async function execute(tool: string, sent: JsonObject, isPreview: boolean, signal?: AbortSignal, onChange?: (task: Task) => void) {
  const options = { strict: false, dryRun: isPreview };
  const given = await ask<ExecuteResponse>(api.POST('/api/tools/{id}/execute', {
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
