// Model settings of an agent: provider, model, sampling and limits of a turn.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';

import { useMay } from '@/api/me';
import { NumberField, Select, Switch, TextField } from '@/components/Field';
import { Fold } from '@/components/Fold';
import { Card } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import css from './AgentEditor.module.css';
import type { BindingDraftList } from './bindings';
import { type Budget, type Config, DEFAULT_STEPS, type Draft, type Faults } from './draft';
import { ModelField } from './ModelField';
import { providersQuery } from './queries';
import { ToolChoiceField } from './ToolChoiceField';
import type { Edit } from './useAgentForm';
import { useModels } from './useModels';

const TEXTS = texts(
  {
    title: 'Model', provider: 'Provider', first: 'Default provider', gone: (name: string) => `${name} (not set up)`,
    none: 'No provider is set up.', stored: (kind: string) => kind, environment: (kind: string) => `${kind}, from the environment`, found: (kind: string) => `${kind}, found on the server’s machine`, setUp: 'Set up a provider', temperature: 'Temperature',
    tokens: 'Max tokens', own: 'Model default', steps: 'Max steps',
    more: 'More settings', parallel: 'Parallel tool calls', parallelText: 'The model may call several tools at once.',
    resume: 'Resume automatically', resumeText: 'When a background call ends, without waiting for the next message.',
    maxCalls: 'Calls per turn', maxSeconds: 'Seconds per turn', maxTotalTokens: 'Tokens per turn',
    locale: 'Language of tool messages', caller: 'Language of the caller', category: 'Category',
  },
  {
    title: '模型', provider: '模型服务', first: '默认模型服务', gone: (name: string) => `${name}（未配置）`,
    none: '尚未配置模型服务。', stored: (kind: string) => kind, environment: (kind: string) => `${kind}，来自环境变量`, found: (kind: string) => `${kind}，在服务器本机发现`, setUp: '配置模型服务', temperature: '温度',
    tokens: '最大 token 数', own: '模型默认', steps: '最大步数',
    more: '更多设置', parallel: '并行调用工具', parallelText: '模型可以同时调用多个工具。',
    resume: '自动继续', resumeText: '后台调用结束后立即继续，不等待下一条消息。',
    maxCalls: '每轮调用数', maxSeconds: '每轮秒数', maxTotalTokens: '每轮 token 数',
    locale: '工具消息的语言', caller: '随调用者', category: '分类',
  },
);

/** The limits of a turn with their defaults. */
const BUDGETS: readonly [Budget, number][] = [['maxCalls', 128], ['maxSeconds', 1800], ['maxTotalTokens', 2_000_000]];

export interface ModelCardProps {
  config: Draft['config'];
  tools: BindingDraftList;
  locale: Draft['locale'];
  category: string;
  edit: Edit;
  faults: Faults;
}

export const ModelCard = memo(function ModelCard({ config, tools, locale, category, edit, faults }: ModelCardProps) {
  const t = useTexts(TEXTS);
  const isDisabled = !useMay('editor');
  const set = (fields: Partial<Draft['config']>) => edit((now) => ({ ...now, config: { ...now.config, ...fields } }));
  return (
    <Card title={t.title}>
      <div className={css.form}>
        <ProviderFields config={config} set={set} faults={faults} isDisabled={isDisabled} />
        <div className={css.pair}>
          <NumberField
            label={t.temperature} minimum={0} step={0.01} placeholder={t.own} isDisabled={isDisabled}
            error={faults['config.temperature']} value={config.temperature ?? undefined}
            onChange={(temperature) => set({ temperature: temperature ?? null })}
          />
          <NumberField
            label={t.tokens} minimum={1} step={1} placeholder={t.own} isDisabled={isDisabled} error={faults['config.maxTokens']}
            value={config.maxTokens ?? undefined} onChange={(maxTokens) => set({ maxTokens: maxTokens ?? null })}
          />
          <NumberField
            label={t.steps} minimum={1} step={1} placeholder={String(DEFAULT_STEPS)} isDisabled={isDisabled}
            error={faults['config.maxSteps']} value={config.maxSteps} onChange={(maxSteps) => set({ maxSteps })}
          />
          <ToolChoiceField
            value={config.toolChoice} tools={tools} isDisabled={isDisabled} error={faults['config.toolChoice']}
            onChange={(toolChoice) => set({ toolChoice })}
          />
        </div>
        <Fold title={t.more}>
          <Switch
            label={t.parallel} description={t.parallelText} isSelected={config.parallelToolCalls} isDisabled={isDisabled}
            onChange={(parallelToolCalls) => set({ parallelToolCalls })}
          />
          <Switch
            label={t.resume} description={t.resumeText} isSelected={config.resume === 'auto'} isDisabled={isDisabled}
            onChange={(isAuto) => set({ resume: isAuto ? 'auto' : 'manual' })}
          />
          <div className={css.pair}>
            {BUDGETS.map(([field, usual]) => (
              <NumberField
                key={field} label={t[field]} minimum={1} step={1} placeholder={String(usual)} isDisabled={isDisabled} error={faults[`config.${field}`]}
                value={config[field]} onChange={(value) => set({ [field]: value })}
              />
            ))}
          </div>
          <Select
            label={t.locale} value={locale ?? 'caller'} isDisabled={isDisabled} error={faults['locale']}
            options={[{ value: 'caller', label: t.caller }, { value: 'en', label: 'English' }, { value: 'zh', label: '中文' }]}
            onChange={(next) => edit((now) => ({ ...now, locale: next === 'caller' ? null : next }))}
          />
          <TextField
            label={t.category} value={category} isDisabled={isDisabled} error={faults['category']} autoComplete="off"
            onChange={(next) => edit((now) => ({ ...now, category: next }))}
          />
        </Fold>
      </div>
    </Card>
  );
});

interface ProviderFieldsProps {
  config: Draft['config'];
  set: (fields: Partial<Config>) => void;
  faults: Faults;
  isDisabled: boolean;
}

/** Stands for the default provider. Names of providers are never empty. */
const DEFAULT_PROVIDER = '';

function ProviderFields({ config, set, faults, isDisabled }: ProviderFieldsProps) {
  const t = useTexts(TEXTS);
  const providers = useQuery(providersQuery);
  const chosen = providers.data?.find(({ id, name }) => name === config.provider || id === config.provider);
  const options = [
    { value: DEFAULT_PROVIDER, label: t.first },
    ...(providers.data ?? []).map(({ name, kind, source }) => ({ value: name, label: name, description: t[source](kind) })),
  ];
  const isGone = config.provider !== null && chosen === undefined;
  if (isGone) options.push({ value: config.provider ?? DEFAULT_PROVIDER, label: providers.isSuccess ? t.gone(config.provider ?? '') : (config.provider ?? '') });
  // The server also uses the first provider if none is named.
  const effective = chosen ?? (config.provider === null ? providers.data?.[0] : undefined);
  const models = useModels(effective);
  const isNone = providers.data?.length === 0;
  return (
    <>
      <Select
        label={t.provider} value={chosen?.name ?? config.provider ?? DEFAULT_PROVIDER} options={options} isDisabled={isDisabled} error={faults['config.provider']}
        description={isNone ? <>{t.none} <Link to="/settings" search={{ tab: 'providers' }}>{t.setUp}</Link></> : undefined}
        onChange={(provider) => set({ provider: provider === DEFAULT_PROVIDER ? null : provider })}
      />
      <ModelField
        models={models.names} isLoading={models.isLoading} refusal={models.refusal} onAsk={models.ask} value={config.model ?? ''} isDisabled={isDisabled} error={faults['config.model']}
        onChange={(model) => set({ model: model === '' ? null : model })}
      />
    </>
  );
}
