// The language of the console: chosen here, else the browser's. Words live beside the feature that says them.
import { createContext, type ReactNode, use, useMemo, useState } from 'react';

export type Language = 'en' | 'zh';

interface Chosen {
  language: Language;
  choose: (language: Language) => void;
}

const Context = createContext<Chosen>({ language: 'en', choose: () => undefined });

/** What `first.js` found before anything was drawn. */
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

export interface Words<T> {
  en: T;
  zh: Shape<T>;
}

/** Words in both languages; one that is missing in Chinese does not compile. */
export function words<T extends Record<string, Word>>(en: T, zh: Shape<T>): Words<T> {
  return { en, zh };
}

/** The words of a feature in the language that was chosen. */
export function useWords<T>(of: Words<T>): Shape<T> {
  const { language } = useLanguage();
  return language === 'zh' ? of.zh : (of.en as Shape<T>);
}
