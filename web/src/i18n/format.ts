// Formats numbers, times and durations for people.
import { useMemo } from 'react';

import { useLanguage } from './language';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export interface Format {
  /** 1,234 or 12.3K */
  count: (value: number) => string;
  /** 0.4% */
  percent: (share: number) => string;
  /** 245 ms, 1.2 s, 3 min */
  duration: (milliseconds: number) => string;
  /** Nov 15, 09:30:02 */
  time: (at: string | Date) => string;
  /** 2 minutes ago */
  ago: (at: string | Date, now?: number) => string;
  bytes: (value: number) => string;
}

export function formats(locale: string): Format {
  const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const clock = new Intl.DateTimeFormat(locale, {
    month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false,
  });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: locale === 'zh-CN' ? 'short' : 'long' });
  // Adds a space between a number and Chinese characters, as in all Chinese texts of the console.
  const formatRelative = (value: number, unit: Intl.RelativeTimeFormatUnit) => relative.format(value, unit).replace(/(\d)(?=\p{Script=Han})/u, '$1 ');
  return {
    count: (value) => (Math.abs(value) < 10_000 ? plain : compact).format(value),
    percent: (value) => share.format(value),
    duration: (milliseconds) => {
      if (milliseconds < 10) return `${plain.format(milliseconds)} ms`;
      if (milliseconds < SECOND) return `${Math.round(milliseconds)} ms`;
      if (milliseconds < MINUTE) return `${plain.format(milliseconds / SECOND)} s`;
      return `${plain.format(milliseconds / MINUTE)} min`;
    },
    time: (at) => clock.format(new Date(at)),
    ago: (at, now = Date.now()) => {
      const past = new Date(at).getTime() - now;
      const size = Math.abs(past);
      if (size < MINUTE) return formatRelative(Math.round(past / SECOND), 'second');
      if (size < HOUR) return formatRelative(Math.round(past / MINUTE), 'minute');
      if (size < DAY) return formatRelative(Math.round(past / HOUR), 'hour');
      return formatRelative(Math.round(past / DAY), 'day');
    },
    bytes: (value) => {
      if (value < 1024) return `${value} B`;
      if (value < 1 << 20) return `${plain.format(value / 1024)} KB`;
      return `${plain.format(value / (1 << 20))} MB`;
    },
  };
}

export function useFormat(): Format {
  const { language } = useLanguage();
  return useMemo(() => formats(language === 'zh' ? 'zh-CN' : 'en-US'), [language]);
}
