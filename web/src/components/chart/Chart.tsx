// A time series chart: title, legend and plot. The plot is loaded on demand.
import { lazy, type ReactNode, Suspense, useState } from 'react';

import css from './Chart.module.css';

const Plot = lazy(() => import('./Plot'));

export type Tone = 'accent' | 'good' | 'warn' | 'bad' | 'ink';

export interface Series {
  label: string;
  tone: Tone;
  values: readonly (number | null)[];
  /** Fills the area below the line. */
  isFilled?: boolean;
}

export interface ChartProps {
  title: string;
  /** A description of the plot for screen readers. */
  summary: string;
  /** In seconds since 1970, ascending. */
  times: readonly number[];
  series: readonly Series[];
  height?: number;
  /** Formats values. */
  format: (value: number) => string;
  /** Formats times on the axis. */
  formatTime: (seconds: number) => string;
  /** Formats the time under the pointer; defaults to `formatTime`. */
  formatMoment?: (seconds: number) => string;
  /** Minimum upper end of the scale. */
  atLeast?: number;
  /** Called with the time range selected with the pointer, in seconds. */
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
          {/* The legend of a single line is hidden until a point is hovered, since the title names the
              line. */}
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
