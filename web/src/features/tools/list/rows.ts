// Tools as rows of a grid: a heading for each category, then as many cards in a row as there is room for.
import type { Schemas } from '@/api/client';

type Tool = Schemas['Tool'];

export type GridRow =
  | { kind: 'heading'; category: string }
  | { kind: 'cards'; tools: readonly Tool[] };

/** What has no category of its own is the user's. */
export function categoryOf(tool: Tool): string {
  return tool.category ?? 'custom';
}

export function gridRows(tools: readonly Tool[], columns: number, hasHeadings: boolean): GridRow[] {
  const rows: GridRow[] = [];
  let category: string | undefined;
  let open: Tool[] = [];
  for (const tool of tools) {
    if (hasHeadings && categoryOf(tool) !== category) {
      category = categoryOf(tool);
      rows.push({ kind: 'heading', category });
      open = [];
    }
    if (open.length === 0 || open.length === columns) {
      open = [];
      rows.push({ kind: 'cards', tools: open });
    }
    open.push(tool);
  }
  return rows;
}
