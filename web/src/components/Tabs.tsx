// Tabs.
import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components';

import css from './Tabs.module.css';

export interface TabItem<K extends string> {
  id: K;
  label: string;
  /** Content after the label: a count, or a sign that a field inside is invalid. */
  mark?: ReactNode;
  content: ReactNode;
}

export interface TabsProps<K extends string> {
  label: string;
  tabs: readonly TabItem<K>[];
  /** The key of the open tab, if the address determines it. */
  selected?: K;
  onSelect?: (tab: K) => void;
}

export function Tabs<K extends string>({ label, tabs, selected, onSelect }: TabsProps<K>) {
  return (
    <AriaTabs selectedKey={selected} onSelectionChange={(key) => onSelect?.(key as K)} className={css.tabs ?? ''}>
      <TabList aria-label={label} className={css.list ?? ''}>
        {tabs.map((tab) => <Tab key={tab.id} id={tab.id} className={css.tab ?? ''}>{tab.label}{tab.mark}</Tab>)}
      </TabList>
      {tabs.map((tab) => <TabPanel key={tab.id} id={tab.id} className={css.panel ?? ''}>{tab.content}</TabPanel>)}
    </AriaTabs>
  );
}
