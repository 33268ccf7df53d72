// Colors for canvases, which do not resolve CSS variables: read from the element's computed style.
import { useSyncExternalStore } from 'react';

import type { Tone } from './Chart';

export interface Colors {
  of: Record<Tone, string>;
  quiet: string;
  line: string;
  font: string;
  soft: (color: string) => string;
}

const VARIABLES: Record<Tone, string> = { accent: '--accent', good: '--good', warn: '--warn', bad: '--bad', ink: '--ink-3' };

export function colorsOf(element: HTMLElement): Colors {
  const probe = document.createElement('span');
  element.append(probe);
  const read = (variable: string) => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const { accent, good, warn, bad, ink } = VARIABLES;
  const of = { accent: read(accent), good: read(good), warn: read(warn), bad: read(bad), ink: read(ink) };
  probe.style.fontSize = 'var(--text-xs)';
  const { fontSize, fontFamily } = getComputedStyle(probe);
  const found = { of, quiet: read('--ink-3'), line: read('--line'), font: `${fontSize} ${fontFamily}`, soft };
  probe.remove();
  return found;
}

function soft(color: string): string {
  return color.startsWith('rgb(') ? color.replace('rgb(', 'rgba(').replace(')', ', 0.12)') : color;
}

/** A value that changes whenever the color theme changes, by choice or by the system. */
export function useColorScheme(): string {
  return useSyncExternalStore(watch, scheme);
}

const system = window.matchMedia('(prefers-color-scheme: dark)');

function scheme(): string {
  return document.documentElement.dataset['theme'] ?? (system.matches ? 'dark' : 'light');
}

function watch(changed: () => void): () => void {
  const attribute = new MutationObserver(changed);
  attribute.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  system.addEventListener('change', changed);
  return () => {
    attribute.disconnect();
    system.removeEventListener('change', changed);
  };
}
