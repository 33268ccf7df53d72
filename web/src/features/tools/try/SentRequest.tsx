// The request of a completed call, generated again when the user opens it.
import { useQuery } from '@tanstack/react-query';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components';

import { Loading, LoadFailed } from '@/components/Page';
import type { JsonObject } from '@/components/schema-form/schema';
import { useTexts } from '@/i18n/language';

import { RequestView } from './RequestView';
import css from './TryTab.module.css';
import { execute } from './useRun';
import { TEXTS } from './texts';

export function SentRequest({ tool, sent, callId }: { tool: string; sent: JsonObject; callId: string }) {
  const t = useTexts(TEXTS);
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Disclosure isExpanded={isOpen} onExpandedChange={setIsOpen} className={css.sent ?? ''}>
      <Heading level={3}>
        <Button slot="trigger" className={css.fold ?? ''}>
          <ChevronRight aria-hidden size={15} className={isOpen ? css.turned : ''} />{t.request}
        </Button>
      </Heading>
      <DisclosurePanel>{isOpen && <Drawn tool={tool} sent={sent} callId={callId} />}</DisclosurePanel>
    </Disclosure>
  );
}

function Drawn({ tool, sent, callId }: { tool: string; sent: JsonObject; callId: string }) {
  const t = useTexts(TEXTS);
  const request = useQuery({
    queryKey: ['calls', 'request', callId], queryFn: () => execute(tool, sent, true), staleTime: Infinity,
  });
  if (request.isPending) return <Loading />;
  if (request.error !== null) return <LoadFailed error={request.error} again={() => void request.refetch()} />;
  return <RequestView request={request.data.success ? request.data.data : request.data.error} note={t.requestNote} />;
}
