// Arranges tools in grid rows: categories under headings, small categories side by side.
import type { Schemas } from '@/api/client';

type Tool = Schemas['Tool'];

/** A category's heading and the first row of its cards. */
export interface Block {
  category: string;
  /** The number of columns, reserved even if not all cards are loaded. */
  span: number;
  tools: readonly Tool[];
}

export type GridRow =
  | { kind: 'band'; blocks: Block[] }
  | { kind: 'cards'; tools: readonly Tool[] };

/** Returns the category of a tool; `custom` if it has none. */
export function categoryOf(tool: Tool): string {
  return tool.category ?? 'custom';
}

/**
 * Arranges tools in rows. With `counts` (the number of tools by category), categories get headings.
 * Tools of one category must be consecutive.
 */
export function gridRows(tools: readonly Tool[], columns: number, counts: ReadonlyMap<string, number> | undefined): GridRow[] {
  if (counts === undefined) return cardRows(tools, columns);
  const rows: GridRow[] = [];
  for (const [category, own] of byCategory(tools)) {
    const span = Math.min(columns, Math.max(own.length, counts.get(category) ?? 0));
    const block = { category, span, tools: own.slice(0, columns) };
    const before = rows.at(-1);
    if (before?.kind === 'band' && usedColumns(before.blocks) + span <= columns) before.blocks.push(block);
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

function usedColumns(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { span }) => sum + span, 0);
}
