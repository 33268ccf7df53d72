// Tools as rows of a grid: each category under its heading, and small ones beside each other as far as there is room.
import type { Schemas } from '@/api/client';

type Tool = Schemas['Tool'];

/** A category's heading and the first row of its cards. */
export interface Block {
  category: string;
  /** So many columns are its own, whether or not all of its cards are there yet. */
  span: number;
  tools: readonly Tool[];
}

export type GridRow =
  | { kind: 'band'; blocks: Block[] }
  | { kind: 'cards'; tools: readonly Tool[] };

/** What has no category of its own is the user's. */
export function categoryOf(tool: Tool): string {
  return tool.category ?? 'custom';
}

/** With `counts`, how many tools each category has, there are headings; tools of one category come one after another. */
export function gridRows(tools: readonly Tool[], columns: number, counts: ReadonlyMap<string, number> | undefined): GridRow[] {
  if (counts === undefined) return cardRows(tools, columns);
  const rows: GridRow[] = [];
  for (const [category, own] of byCategory(tools)) {
    const span = Math.min(columns, Math.max(own.length, counts.get(category) ?? 0));
    const block = { category, span, tools: own.slice(0, columns) };
    const before = rows.at(-1);
    if (before?.kind === 'band' && taken(before.blocks) + span <= columns) before.blocks.push(block);
    else rows.push({ kind: 'band', blocks: [block] });
    rows.push(...cardRows(own.slice(columns), columns));
  }
  return rows;
}

function byCategory(tools: readonly Tool[]): Map<string, Tool[]> {
  const found = new Map<string, Tool[]>();
  for (const tool of tools) {
    const own = found.get(categoryOf(tool));
    if (own === undefined) found.set(categoryOf(tool), [tool]);
    else own.push(tool);
  }
  return found;
}

function cardRows(tools: readonly Tool[], columns: number): GridRow[] {
  const rows: GridRow[] = [];
  for (let at = 0; at < tools.length; at += columns) rows.push({ kind: 'cards', tools: tools.slice(at, at + columns) });
  return rows;
}

function taken(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { span }) => sum + span, 0);
}
