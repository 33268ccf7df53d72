// Replays a call, with the original or edited arguments, and shows the result.
import { useMutation, type UseMutationResult, useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ApiError, ask, errorText, type Schemas } from '@/api/client';
import { type ExecuteResponse, outcomeOf } from '@/api/task';
import { Button } from '@/components/Button';
import { RefusingCircuit } from '@/components/circuit/RefusingCircuit';
import { CodeEditor, pretty } from '@/components/Code';
import { DialogFooter } from '@/components/Dialog';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { Value } from '@/components/Value';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import { CallLink } from './CallFacts';
import css from './CallPanel.module.css';
import { StatusMark } from './StatusMark';

const TEXTS = texts(
  {
    cut: 'The arguments were truncated in the call log, so this call cannot be replayed directly. Complete them to call again.',
    masked: 'The arguments contain masked secrets, so this call cannot be replayed directly. Replace the masks with the real values.',
    write: 'This tool writes. Replaying calls it again.', args: 'Arguments', send: 'Call again', cancel: 'Cancel', notJson: 'Not valid JSON.',
    answer: 'Answer', open: 'Open the new call', asBefore: 'Uses the current version of the tool, not the cache.',
  },
  {
    cut: '参数过长，没有完整保存，因此不能直接重放。请在这里补全，再用它们调用。',
    masked: '参数中含有不可查看的内容，因此不能直接重放。请把掩码替换为真实的值。',
    write: '此工具会产生改动。重放会真正再次调用它。', args: '参数', send: '再次调用', cancel: '取消', notJson: '还不是有效的 JSON。',
    answer: '返回', open: '打开新的调用', asBefore: '使用工具的当前版本，不读取缓存。',
  },
);

export type Replaying = UseMutationResult<Schemas['ToolExecutionResult'], Error, ParsedArguments>;

export function useReplay(call: Schemas['ToolCall']): { replay: Replaying; isWriting: boolean } {
  const tool = useQuery({
    queryKey: ['tools', 'one', call.toolId],
    queryFn: () => ask(api.GET('/api/tools/{id}', { params: { path: { id: call.toolId ?? '' } } })),
    enabled: call.toolId !== null,
    retry: false,
  });
  const replay = useMutation({ mutationFn: (given: ParsedArguments) => replayCall(call.id, given) });
  // While the tool is unknown, it is treated as one that writes.
  return { replay, isWriting: call.toolId !== null && (tool.data === undefined || mayWrite(tool.data)) };
}

export interface ReplayProps {
  call: Schemas['ToolCall'];
  replay: Replaying;
  isWriting: boolean;
  /** True to edit the arguments first. */
  isEdited: boolean;
  onClose: () => void;
}

export function Replay({ call, replay, isWriting, isEdited, onClose }: ReplayProps) {
  const t = useTexts(TEXTS);
  const [text, setText] = useState(() => (call.argumentsCut && typeof call.arguments === 'string' ? call.arguments : pretty(call.arguments)));
  const edited = parsed(text);
  return (
    <div className={css.box}>
      {isEdited && call.notReplayable !== null && <Hint>{t[call.notReplayable]}</Hint>}
      {isEdited && <CodeEditor label={t.args} value={text} onChange={setText} isInvalid={edited === undefined} minHeight={120} autoFocus />}
      {isEdited && edited === undefined && <ErrorNote>{t.notJson}</ErrorNote>}
      {isWriting && <WarningNote>{t.write}</WarningNote>}
      {replay.error !== null && <ErrorNote>{errorText(replay.error)}</ErrorNote>}
      {replay.isPending && <Loading />}
      {replay.data !== undefined && <ReplayResult result={replay.data} />}
      {(isEdited || isWriting || replay.error !== null) && (
        <div className={css.result}>
          <span className="quiet small">{t.asBefore}</span>
          <DialogFooter>
            <Button onPress={onClose}>{t.cancel}</Button>
            <Button
              look={isWriting ? 'danger' : 'primary'} isPending={replay.isPending} isDisabled={isEdited && edited === undefined}
              onPress={() => replay.mutate(isEdited ? edited : undefined)}
            >
              {t.send}
            </Button>
          </DialogFooter>
        </div>
      )}
    </div>
  );
}

function ReplayResult({ result }: { result: Schemas['ToolExecutionResult'] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const kinds = useKinds();
  return (
    <>
      <div className={css.result} role="status">
        <span className={css.summary}>
          <StatusMark status={result.success ? 'success' : 'failed'} /><strong>{format.duration(result.executionTime)}</strong>
        </span>
        <CallLink id={result.callId}>{t.open}</CallLink>
      </div>
      {result.success ? <Value value={result.data} label={t.answer} /> : (
        <div className={css.failure}>
          <strong className={css.kind}>{kinds[result.error.kind]}</strong>
          <p className={css.message}>{result.error.message}</p>
          <RefusingCircuit error={result.error} />
        </div>
      )}
    </>
  );
}

type ParsedArguments = { value: unknown } | undefined;

function parsed(text: string): ParsedArguments {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Returns the result of the new call, also if it failed. Throws if the replay was refused. */
async function replayCall(id: string, given: ParsedArguments): Promise<Schemas['ToolExecutionResult']> {
  try {
    const body = given === undefined ? {} : { arguments: given.value };
    return await outcomeOf(await ask<ExecuteResponse>(api.POST('/api/tool-calls/{id}/replay', { params: { path: { id } }, body })));
  } catch (error) {
    if (error instanceof ApiError && isFailed(error.data)) return error.data;
    throw error;
  }
}

function isFailed(data: unknown): data is Schemas['FailedExecution'] {
  return typeof data === 'object' && data !== null && 'success' in data && data.success === false;
}

const READING = ['GET', 'HEAD', 'OPTIONS'];

/** Returns true if the call may write. A tool without a declared effect has that of its kind. */
function mayWrite(tool: Schemas['Tool']): boolean {
  if (tool.effect !== null) return tool.effect === 'write';
  if (tool.type === 'builtin') return false;
  const { method } = tool.config as Record<string, unknown>;
  return !(tool.type === 'http' && (method === undefined || (typeof method === 'string' && READING.includes(method.toUpperCase()))));
}
