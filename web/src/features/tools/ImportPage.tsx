// Comes next.
import { Page } from '@/components/Page';

export function ImportPage() {
  return <Page title="ImportPage">{null}</Page>;
}
