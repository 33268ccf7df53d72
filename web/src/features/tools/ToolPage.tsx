// Comes next.
import { Page } from '@/components/Page';

export function ToolPage() {
  return <Page title="ToolPage">{null}</Page>;
}
