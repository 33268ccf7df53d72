// The language of the console: chosen by the user, else that of the browser. Texts are defined beside the
// feature that shows them.
import { createContext, type ReactNode, use, useMemo, useState } from 'react';

export type Language = 'en' | 'zh';

interface Chosen {
  language: Language;
  choose: (language: Language) => void;
}

const Context = createContext<Chosen>({ language: 'en', choose: () => undefined });

/** The language that `first.js` determined before the first render. */
export function languageNow(): Language {
  return document.documentElement.lang === 'zh' ? 'zh' : 'en';
}

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(languageNow);
  const chosen = useMemo(() => {
    const choose = (next: Language) => {
      localStorage.setItem('haft.language', next);
      document.documentElement.lang = next;
      setLanguage(next);
    };
    return { language, choose };
  }, [language]);
  return <Context value={chosen}>{children}</Context>;
}

export function useLanguage(): Chosen {
  return use(Context);
}

type Word = string | ((...args: never[]) => string);
type Shape<T> = { [K in keyof T]: T[K] extends (...args: infer A) => string ? (...args: A) => string : string };

export interface Texts<T> {
  en: T;
  zh: Shape<T>;
}

/** Texts in both languages; a text missing in Chinese is a compile error. */
export function texts<T extends Record<string, Word>>(en: T, zh: Shape<T>): Texts<T> {
  return { en, zh };
}

/** The texts of a feature in the chosen language. */
export function useTexts<T>(of: Texts<T>): Shape<T> {
  const { language } = useLanguage();
  return language === 'zh' ? of.zh : (of.en as Shape<T>);
}
