// Comes next.
import { Page } from '@/components/Page';

export function SettingsPage() {
  return <Page title="SettingsPage">{null}</Page>;
}
