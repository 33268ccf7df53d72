// Name, description and system prompt of an agent.
import { memo } from 'react';

import { useMay } from '@/api/me';
import { TextField } from '@/components/Field';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import css from './AgentEditor.module.css';
import type { Draft, Faults } from './draft';
import type { Edit } from './useAgentForm';

const TEXTS = texts(
  {
    title: 'Instructions', name: 'Name', description: 'Description', prompt: 'System prompt',
    named: 'Up to 64 characters. The API accepts it instead of the id.',
    described: 'For people: the purpose of the agent.',
    example: 'You are a careful assistant. Use the tools for anything that must be exact…',
    length: (count: string) => `${count} characters`,
  },
  {
    title: '指令', name: '名称', description: '描述', prompt: '系统提示词',
    named: '最多 64 个字符，也可以在 API 中使用。',
    described: '给人看的：它擅长做什么。',
    example: '你是一名严谨的助手。凡是需要精确的事情，都使用工具完成……',
    length: (count: string) => `${count} 个字符`,
  },
);

const PROMPT_ROWS = 10;

export interface InstructionsProps {
  draft: Draft;
  edit: Edit;
  faults: Faults;
  isNew: boolean;
}

export const Instructions = memo(function Instructions({ draft, edit, faults, isNew }: InstructionsProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const isDisabled = !useMay('editor');
  return (
    <Card title={t.title}>
      <div className={css.form}>
        <TextField
          label={t.name} description={t.named} isRequired autoFocus={isNew} isDisabled={isDisabled} error={faults['name']}
          value={draft.name} onChange={(name) => edit((now) => ({ ...now, name }))} autoComplete="off"
        />
        <TextField
          label={t.description} description={t.described} isDisabled={isDisabled} error={faults['description']}
          value={draft.description} onChange={(description) => edit((now) => ({ ...now, description }))} autoComplete="off"
        />
        <TextField
          label={t.prompt} rows={PROMPT_ROWS} placeholder={t.example} isDisabled={isDisabled} error={faults['systemPrompt']}
          description={t.length(format.count(Array.from(draft.systemPrompt).length))}
          value={draft.systemPrompt} onChange={(systemPrompt) => edit((now) => ({ ...now, systemPrompt }))}
        />
      </div>
    </Card>
  );
});
