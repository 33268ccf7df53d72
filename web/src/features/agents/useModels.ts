// The models of a provider: configured ones, or those the provider's API lists on request.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas, errorText } from '@/api/client';
import { useMay } from '@/api/me';

export interface Models {
  names: readonly string[];
  /** Requests the list from the provider. `undefined` if it is not useful or not allowed. */
  ask: (() => void) | undefined;
  isLoading: boolean;
  /** The error of the last request. */
  refusal: string | undefined;
}

export function useModels(provider: Schemas['Provider'] | undefined): Models {
  const mayAsk = useMay('admin');
  const [requestedId, setRequestedId] = useState<string>();
  const id = provider?.id;
  const isRequested = id !== undefined && requestedId === id;
  const test = useQuery({
    queryKey: ['providers', 'models', id],
    queryFn: () => ask(api.POST('/api/providers/{id}/test', { params: { path: { id: id ?? '' } }, body: {} })),
    enabled: isRequested,
    retry: false,
  });
  const listed = provider?.models ?? [];
  const isUseful = mayAsk && provider !== undefined && provider.kind !== 'scripted' && listed.length === 0 && test.data?.ok !== true;
  const refusal = test.error === null ? (test.data?.ok === false ? test.data.message : undefined) : errorText(test.error);
  return {
    names: listed.length > 0 ? listed : (test.data?.models ?? []),
    ask: isUseful ? () => {
      if (isRequested) void test.refetch();
      setRequestedId(id);
    } : undefined,
    isLoading: isRequested && test.isFetching,
    refusal: isRequested && !test.isFetching ? refusal : undefined,
  };
}
