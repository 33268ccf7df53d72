// A chart over time: its name, what the lines mean, and the drawing, which is loaded when one is shown.
import { lazy, type ReactNode, Suspense, useState } from 'react';

import css from './Chart.module.css';

const Plot = lazy(() => import('./Plot'));

export type Tone = 'accent' | 'good' | 'warn' | 'bad' | 'ink';

export interface Series {
  label: string;
  tone: Tone;
  values: readonly (number | null)[];
  /** The room under the line is tinted. */
  isFilled?: boolean;
}

export interface ChartProps {
  title: string;
  /** What the drawing says, for those who cannot see it. */
  summary: string;
  /** In seconds since 1970, rising. */
  times: readonly number[];
  series: readonly Series[];
  height?: number;
  /** How values are written. */
  format: (value: number) => string;
  /** How times are written along the axis. */
  formatTime: (seconds: number) => string;
  /** How the time that is pointed at is written; as along the axis when absent. */
  formatMoment?: (seconds: number) => string;
  /** The scale reaches at least so far. */
  atLeast?: number;
  /** Called with the time that was marked with the pointer, in seconds. */
  onSelect?: (from: number, to: number) => void;
  actions?: ReactNode;
}

export function Chart(props: ChartProps) {
  const { title, summary, times, series, height = 180, format, formatTime, formatMoment = formatTime, actions } = props;
  const [pointed, setPointed] = useState<number>();
  const at = pointed === undefined ? undefined : times[pointed];
  return (
    <figure className={css.chart}>
      <figcaption className={css.caption}>
        <h2>{title}</h2>
        <span className="hidden">{summary}</span>
        <span className={css.legend} aria-hidden>
          {at !== undefined && <span className="quiet">{formatMoment(at)}</span>}
          {/* The one line of a chart is what its title says, until a moment of it is pointed at. */}
          {(series.length > 1 || pointed !== undefined) && series.map((one) => (
            <span key={one.label} className={css.key}>
              <span className={`${css.swatch} ${css[one.tone]}`} />
              {one.label}
              {pointed !== undefined && <strong>{written(one.values[pointed], format)}</strong>}
            </span>
          ))}
        </span>
        {actions}
      </figcaption>
      <Suspense fallback={<div style={{ height }} />}>
        <Plot {...props} height={height} onPoint={setPointed} />
      </Suspense>
    </figure>
  );
}

function written(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
