// The models of a provider: those it was given, or those it says it has, once it is asked.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';

export interface Models {
  known: readonly string[];
  /** Asks the provider, where that is of use and one may. */
  ask: (() => void) | undefined;
  isAsked: boolean;
  /** Why it did not say. */
  refusal: string | undefined;
}

export function useModels(provider: Schemas['Provider'] | undefined): Models {
  const mayAsk = useMay('admin');
  const [wanted, setWanted] = useState<string>();
  const id = provider?.id;
  const isWanted = id !== undefined && wanted === id;
  const test = useQuery({
    queryKey: ['providers', 'models', id],
    queryFn: () => ask(api.POST('/api/providers/{id}/test', { params: { path: { id: id ?? '' } }, body: {} })),
    enabled: isWanted,
    retry: false,
  });
  const listed = provider?.models ?? [];
  const isUseful = mayAsk && provider !== undefined && provider.kind !== 'scripted' && listed.length === 0 && test.data?.ok !== true;
  const refusal = test.error === null ? (test.data?.ok === false ? test.data.message : undefined) : wordsOf(test.error);
  return {
    known: listed.length > 0 ? listed : (test.data?.models ?? []),
    ask: isUseful ? () => {
      if (isWanted) void test.refetch();
      setWanted(id);
    } : undefined,
    isAsked: isWanted && test.isFetching,
    refusal: isWanted && !test.isFetching ? refusal : undefined,
  };
}
