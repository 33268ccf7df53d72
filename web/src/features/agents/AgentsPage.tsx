// Comes next.
import { Page } from '@/components/Page';

export function AgentsPage() {
  return <Page title="AgentsPage">{null}</Page>;
}
