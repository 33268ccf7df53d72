// Groups conversations by the time of their last change: today, yesterday, this week, earlier.
import type { ConversationRow } from './wire';

export type Span = 'today' | 'yesterday' | 'week' | 'month' | 'older';

export interface Group {
  span: Span;
  rows: ConversationRow[];
}

const DAY = 86_400_000;

/** Groups in the order of the rows. */
export function byDay(rows: readonly ConversationRow[], now: number): Group[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const groups: Group[] = [];
  for (const row of rows) {
    const span = spanOf(new Date(row.updatedAt).getTime(), midnight);
    const last = groups.at(-1);
    if (last?.span === span) last.rows.push(row);
    else groups.push({ span, rows: [row] });
  }
  return groups;
}

function spanOf(at: number, midnight: number): Span {
  if (at >= midnight) return 'today';
  if (at >= midnight - DAY) return 'yesterday';
  if (at >= midnight - 7 * DAY) return 'week';
  return at >= midnight - 30 * DAY ? 'month' : 'older';
}
