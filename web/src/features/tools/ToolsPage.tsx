// Comes next.
import { Page } from '@/components/Page';

export function ToolsPage() {
  return <Page title="ToolsPage">{null}</Page>;
}
