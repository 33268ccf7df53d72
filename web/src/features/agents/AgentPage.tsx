// The page of an agent, new or existing.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import { Loading, LoadFailed } from '@/components/Page';

import { AgentEditor } from './AgentEditor';
import { agentQuery } from './queries';

const route = getRouteApi('/inside/agents/$id');

export function AgentPage() {
  const { id } = route.useParams();
  return id === 'new' ? <AgentEditor key="new" loaded={null} /> : <ExistingAgent key={id} id={id} />;
}

function ExistingAgent({ id }: { id: string }) {
  const agent = useQuery(agentQuery(id));
  if (agent.data !== undefined) return <AgentEditor loaded={agent.data} />;
  return agent.error === null ? <Loading /> : <LoadFailed error={agent.error} again={() => void agent.refetch()} />;
}
