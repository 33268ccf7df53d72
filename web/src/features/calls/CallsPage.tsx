// Comes next.
import { Page } from '@/components/Page';

export function CallsPage() {
  return <Page title="CallsPage">{null}</Page>;
}
