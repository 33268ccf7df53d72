// Name, title, category and description of a tool.
import { useQuery } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { memo } from 'react';

import type { Violation } from '@/api/client';
import { TextField } from '@/components/Field';
import { Card } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import { categoriesQuery } from '../list/pages';
import css from './AboutSection.module.css';
import type { AboutDraft } from './draft';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    what: 'About', name: 'Name', nameRule: 'Letters, digits, _ and -, at most 64 characters. The model calls the tool by this name.',
    nameWrong: (wrong: string) => `Names cannot contain “${wrong}”. Use letters, digits, _ and -.`, nameLong: (length: number) => `${length} characters. The maximum is 64.`,
    title: 'Title', titleHint: 'Shown to people. Leave empty to use the name.', titleEn: 'Title in English', titleZh: 'Title in Chinese',
    category: 'Category', categoryHint: 'Groups tools. Leave empty for “custom”.',
    description: 'Description', descriptionHint: 'The model reads this to decide when to call the tool, and how.',
    good: 'Helps the model', bad: 'Leaves it guessing',
    goodText: 'Gives the weather of a city for up to 7 days: temperature in °C, rain, wind. Use it for questions about weather or clothing.',
    badText: 'Weather API.', nameSpace: 'Names cannot contain spaces. Example: get_weather.',
  },
  {
    what: '它做什么', name: '名称', nameRule: '字母、数字、_ 和 -，最多 64 个字符。模型用它来调用。',
    nameWrong: (wrong: string) => `名称中不能有“${wrong}”，只能用字母、数字、_ 和 -。`, nameLong: (length: number) => `已有 ${length} 个字符，最多 64 个。`,
    title: '标题', titleHint: '给人看的名字，留空则用名称。', titleEn: '英文标题', titleZh: '中文标题',
    category: '分类', categoryHint: '用于分组的词，留空为 custom。',
    description: '描述', descriptionHint: '模型据此判断何时以及如何调用。',
    good: '对模型有用', bad: '让模型猜',
    goodText: '查询城市未来 7 天内的天气：温度（°C）、降水、风力。当有人问天气或穿什么时使用。',
    badText: '天气接口。', nameSpace: '名称中不能有空格：get_weather。',
  },
);

export interface AboutSectionProps {
  about: AboutDraft;
  violations: readonly Violation[];
  change: Change;
  isNew: boolean;
}

export const AboutSection = memo(function AboutSection({ about, violations, change, isNew }: AboutSectionProps) {
  const t = useTexts(TEXTS);
  const nameError = nameErrorOf(about.name, t) ?? messageAt(violations, 'name');
  const { title } = about;
  return (
    <Card title={t.what}>
      <div className={css.fields}>
        <div className={typeof title === 'string' ? '' : css.whole}><TextField
          label={t.name} isRequired isMono autoFocus={isNew} value={about.name} onChange={(name) => change('about', { name })} placeholder="get_weather"
          description={t.nameRule} error={nameError}
        /></div>
        {typeof title === 'string' ? (
          <TextField label={t.title} description={t.titleHint} value={title} onChange={(next) => change('about', { title: next })} error={messageAt(violations, 'title')} />
        ) : (
          <>
            <TextField label={t.titleEn} value={title.en} onChange={(en) => change('about', { title: { ...title, en } })} error={messageAt(violations, 'title')} />
            <TextField label={t.titleZh} value={title.zh} onChange={(zh) => change('about', { title: { ...title, zh } })} />
          </>
        )}
        <Category value={about.category} change={change} error={messageAt(violations, 'category')} />
        <div className={css.description}>
          <TextField
            label={t.description} description={t.descriptionHint} isRequired rows={5} value={about.description}
            onChange={(description) => change('about', { description })} error={messageAt(violations, 'description')}
          />
          <dl className={css.examples}>
            <dt className={css.good}><Check size={14} aria-hidden /> {t.good}</dt>
            <dd>{t.goodText}</dd>
            <dt className={css.bad}><X size={14} aria-hidden /> {t.bad}</dt>
            <dd>{t.badText}</dd>
          </dl>
        </div>
      </div>
    </Card>
  );
});

/** Checks the rule for names while the user types. Returns the error, or `undefined` if the name is valid. */
function nameErrorOf(name: string, t: Pick<typeof TEXTS.zh, 'nameWrong' | 'nameLong' | 'nameSpace'>): string | undefined {
  const wrong = /[^a-zA-Z0-9_-]/u.exec(name)?.[0];
  if (wrong !== undefined) return wrong === ' ' ? t.nameSpace : t.nameWrong(wrong);
  return name.length > 64 ? t.nameLong(name.length) : undefined;
}

/** The category field, with existing categories as suggestions. */
function Category({ value, change, error }: { value: string; change: Change; error: string | undefined }) {
  const t = useTexts(TEXTS);
  const categories = useQuery(categoriesQuery).data ?? [];
  return (
    <div className={css.category}>
      <TextField label={t.category} description={t.categoryHint} value={value} onChange={(category) => change('about', { category })} placeholder="custom" error={error} />
      <div className={css.chips}>
        {categories.filter(({ category }) => category !== value).slice(0, 6).map(({ category }) => (
          <button key={category} type="button" className={css.chip} onClick={() => change('about', { category })}>{category}</button>
        ))}
      </div>
    </div>
  );
}
