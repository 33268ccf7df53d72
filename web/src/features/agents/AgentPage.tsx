// Comes next.
import { Page } from '@/components/Page';

export function AgentPage() {
  return <Page title="AgentPage">{null}</Page>;
}
