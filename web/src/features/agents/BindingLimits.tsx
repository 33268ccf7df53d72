// Overrides of a binding: version, policy, and limits that differ from the tool's.
import { useQuery } from '@tanstack/react-query';

import type { Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { NumberField, Select, TextField } from '@/components/Field';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import css from './BindingDrawer.module.css';
import type { BindingDraft, Overrides, Policy } from './bindings';
import type { Faults } from './draft';
import { versionsQuery } from './queries';

const TEXTS = texts(
  {
    version: 'Version', live: 'Live version', liveText: 'Updates with the tool.', pinned: (version: number) => `Version ${version}`,
    held: 'waits for approval', policy: 'Policy', policyText: 'Can be stricter than the tool’s policy, not looser.',
    as: (own: string) => `Tool default (${own})`, allow: 'Allow', ask: 'Ask first', block: 'Block',
    askWhen: 'Ask only when', askWhenText: 'A condition on the arguments, such as amount > 100. Leave empty to ask for every call.',
    how: 'Execution', wait: 'The agent waits', background: 'In the background', timeout: 'Timeout, ms', retries: 'Retries',
    cache: 'Cache, seconds', byEffect: 'by effect', yes: 'in the background', no: 'the agent waits',
  },
  {
    version: '版本', live: '当前版本', liveText: '跟随工具更新。', pinned: (version: number) => `版本 ${version}`,
    held: '等待批准', policy: '策略', policyText: '可以比工具更严格，不能更宽松。',
    as: (own: string) => `与工具一致（${own}）`, allow: '允许', ask: '先询问', block: '禁止',
    askWhen: '仅在此条件下询问', askWhenText: '比较参数，如 amount > 100。留空则每次都询问。',
    how: '运行方式', wait: '智能体等待', background: '后台运行', timeout: '超时（毫秒）', retries: '重试次数',
    cache: '缓存（秒）', byEffect: '视作用而定', yes: '后台运行', no: '智能体等待',
  },
);

/** Ordered from loose to strict. */
const POLICIES: readonly Policy[] = ['allow', 'ask', 'block'];
const MAX_TIMEOUT = 600_000;
const MAX_RETRIES = 10;
const MAX_CACHE = 31_536_000;

export interface BindingLimitsProps {
  binding: BindingDraft;
  tool: Schemas['Tool'];
  replace: (binding: BindingDraft) => void;
  faults: Faults;
}

export function BindingLimits({ binding, tool, replace, faults }: BindingLimitsProps) {
  const t = useTexts(TEXTS);
  const isDisabled = !useMay('editor');
  const { overrides } = binding;
  const set = (fields: Overrides) => replace({ ...binding, overrides: { ...overrides, ...fields } });
  const number = (name: 'timeout' | 'retryCount' | 'cacheTtl') => ({
    value: overrides[name] ?? undefined, onChange: (value: number | undefined) => set({ [name]: value ?? null }),
    error: faults[`overrides.${name}`], step: 1, isDisabled,
  });
  const own = tool.policy ?? 'allow';
  const strict = POLICIES.slice(POLICIES.indexOf(own)).concat(binding.policy ?? []);
  return (
    <div className={css.pair}>
      <VersionField binding={binding} replace={replace} error={faults['pinnedVersion']} isDisabled={isDisabled} />
      <Select
        label={t.policy} description={t.policyText} value={binding.policy ?? 'own'} isDisabled={isDisabled} error={faults['policy']}
        options={[
          { value: 'own' as const, label: t.as(t[own]) },
          ...[...new Set(strict)].map((policy) => ({ value: policy, label: t[policy] })),
        ]}
        onChange={(policy) => replace({ ...binding, policy: policy === 'own' ? null : policy })}
      />
      {binding.policy === 'ask' && (
        <TextField
          label={t.askWhen} description={t.askWhenText} isMono placeholder="amount > 100" value={binding.askWhen} isDisabled={isDisabled}
          onChange={(askWhen) => replace({ ...binding, askWhen })} error={faults['askWhen']}
        />
      )}
      <Select
        label={t.how} value={overrides.async == null ? 'own' : String(overrides.async)} isDisabled={isDisabled} error={faults['overrides.async']}
        options={[
          { value: 'own', label: t.as(tool.async ? t.yes : t.no) }, { value: 'false', label: t.wait }, { value: 'true', label: t.background },
        ]}
        onChange={(next) => set({ async: next === 'own' ? null : next === 'true' })}
      />
      <NumberField label={t.timeout} minimum={1} maximum={MAX_TIMEOUT} placeholder={t.as(String(tool.timeout))} {...number('timeout')} />
      <NumberField
        label={t.retries} minimum={0} maximum={MAX_RETRIES} {...number('retryCount')}
        placeholder={t.as(tool.retryCount === null ? t.byEffect : String(tool.retryCount))}
      />
      <NumberField label={t.cache} minimum={0} maximum={MAX_CACHE} placeholder={t.as(String(tool.cacheTtl))} {...number('cacheTtl')} />
    </div>
  );
}

interface VersionFieldProps extends Pick<BindingLimitsProps, 'binding' | 'replace'> {
  error: string | undefined;
  isDisabled: boolean;
}

const LIVE_VERSION = 'live';

function VersionField({ binding, replace, error, isDisabled }: VersionFieldProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const versions = useQuery(versionsQuery(binding.toolId));
  const options = [
    { value: LIVE_VERSION, label: t.live, description: t.liveText },
    ...(versions.data ?? []).map(({ version, createdAt, note, state }) => ({
      value: String(version), label: t.pinned(version),
      description: [format.time(createdAt), state === 'held' ? t.held : '', note].filter((part) => part !== '').join(' · '),
    })),
  ];
  const value = binding.pinnedVersion === null ? LIVE_VERSION : String(binding.pinnedVersion);
  if (!options.some((option) => option.value === value)) options.push({ value, label: t.pinned(Number(value)), description: '' });
  return (
    <Select
      label={t.version} value={value} options={options} isDisabled={isDisabled} error={error}
      onChange={(next) => replace({ ...binding, pinnedVersion: next === LIVE_VERSION ? null : Number(next) })}
    />
  );
}
