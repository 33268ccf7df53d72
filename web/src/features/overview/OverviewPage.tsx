// Comes next.
import { Page } from '@/components/Page';

export function OverviewPage() {
  return <Page title="OverviewPage">{null}</Page>;
}
