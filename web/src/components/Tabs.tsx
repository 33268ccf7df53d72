// Parts of one thing, one at a time.
import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components';

import css from './Tabs.module.css';

export interface TabItem<K extends string> {
  id: K;
  label: string;
  /** Behind the label: a number, or that something inside is wrong. */
  mark?: ReactNode;
  content: ReactNode;
}

export interface TabsProps<K extends string> {
  label: string;
  tabs: readonly TabItem<K>[];
  /** Which one is open, where the address says so. */
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
