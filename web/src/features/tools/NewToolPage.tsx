// Comes next.
import { Page } from '@/components/Page';

export function NewToolPage() {
  return <Page title="NewToolPage">{null}</Page>;
}
