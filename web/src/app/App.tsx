// The root component: provides language, query client and router to all pages.
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { I18nProvider } from 'react-aria-components';

import { LanguageProvider, useLanguage } from '@/i18n/language';

import { queries } from './queries';
import { router } from './router';

export function App() {
  return (
    <LanguageProvider>
      <QueryClientProvider client={queries}>
        <Localized />
      </QueryClientProvider>
    </LanguageProvider>
  );
}

function Localized() {
  const { language } = useLanguage();
  return (
    <I18nProvider locale={language === 'zh' ? 'zh-CN' : 'en-US'}>
      <RouterProvider router={router} />
    </I18nProvider>
  );
}
