// The uPlot drawing, in a separate chunk. It follows the theme and the available size.
import 'uplot/dist/uPlot.min.css';

import { useEffect, useRef } from 'react';
import uPlot from 'uplot';

import type { ChartProps, Series } from './Chart';
import css from './Chart.module.css';
import { type Colors, colorsOf, useColorScheme } from './colors';

export interface PlotProps extends ChartProps {
  height: number;
  /** Called with the index of the point under the pointer, or `undefined`. */
  onPoint: (index: number | undefined) => void;
}

/** Minimum width in pixels; a shorter drag is a click. */
const MIN_DRAG = 6;
const CHARACTER_WIDTH = 7;
const AXIS_GAP = 12;
const X_AXIS_HEIGHT = 24;

export default function Plot(props: PlotProps) {
  const container = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot>(null);
  const latest = useRef(props);
  const scheme = useColorScheme();
  useEffect(() => {
    latest.current = props;
  });
  // The plot is recreated if the series or the theme change.
  const shape = props.series.map((one) => `${one.label} ${one.tone}`).join('|');
  useEffect(() => {
    const box = container.current;
    if (box === null) return undefined;
    const options = optionsOf(colorsOf(box), latest, box.clientWidth);
    const plot = new uPlot(options, dataOf(latest.current), box);
    drawn.current = plot;
    const watch = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: latest.current.height }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      plot.destroy();
      drawn.current = null;
    };
  }, [scheme, shape]);
  useEffect(() => {
    drawn.current?.setData(dataOf({ times: props.times, series: props.series }));
  }, [props.times, props.series]);
  return <div ref={container} className={css.plot} style={{ height: props.height }} aria-hidden />;
}

function dataOf({ times, series }: Pick<PlotProps, 'times' | 'series'>): uPlot.AlignedData {
  return [[...times], ...series.map((one) => [...one.values])];
}

function optionsOf(colors: Colors, latest: { readonly current: PlotProps }, width: number): uPlot.Options {
  const { series, height } = latest.current;
  const axis = { stroke: colors.quiet, font: colors.font, ticks: { show: false } };
  return {
    width,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false, setScale: false } },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(most, latest.current.atLeast ?? 0) * 1.08 || 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: X_AXIS_HEIGHT, space: 80, values: (_plot, splits) => splits.map((at) => latest.current.formatTime(at)) },
      {
        ...axis, grid: { stroke: colors.line, width: 1 }, size: (_plot, written) => widthOf(written), space: 40,
        values: (_plot, splits) => splits.map((value) => latest.current.format(value)),
      },
    ],
    series: [{}, ...series.map((one) => lineOf(one, colors))],
    hooks: {
      setCursor: [(plot) => latest.current.onPoint(plot.cursor.idx ?? undefined)],
      setSelect: [(plot) => {
        if (plot.select.width < MIN_DRAG) return;
        const from = plot.posToVal(plot.select.left, 'x');
        const to = plot.posToVal(plot.select.left + plot.select.width, 'x');
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        latest.current.onSelect?.(from, to);
      }],
    },
  };
}

/** The width of the axis: that of its longest label, so that the plot is aligned with the title. */
function widthOf(written: readonly string[] | null): number {
  const longest = Math.max(2, ...(written ?? []).map((text) => text.length));
  return longest * CHARACTER_WIDTH + AXIS_GAP;
}

function lineOf(one: Series, colors: Colors): uPlot.Series {
  const color = colors.of[one.tone];
  return {
    label: one.label, stroke: color, width: 1.5, spanGaps: false, points: { show: (plot, index) => isAlone(plot.data[index], plot) },
    ...(one.isFilled === true ? { fill: colors.soft(color) } : {}),
  };
}

/** Returns true if both neighbors of a value are gaps. Such a value has no line and is drawn as a point. */
function isAlone(values: uPlot.AlignedData[number] | undefined, plot: uPlot): boolean {
  const count = values === undefined ? 0 : [...values].filter((value) => value !== null).length;
  return count > 0 && count <= Math.max(2, plot.data[0].length / 12);
}
