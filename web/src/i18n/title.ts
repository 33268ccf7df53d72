// The title of a tool in the chosen language.
import type { Schemas } from '@/api/client';

import type { Language } from './language';

/** The title in `language`, else in the other language, else the name. */
export function titleOf({ title, name }: { title: Schemas['Title'] | null; name: string }, language: Language): string {
  if (title === null || typeof title === 'string') return title ?? name;
  const texts: Partial<Record<Language, string>> = title;
  return texts[language] ?? texts.en ?? texts.zh ?? name;
}
