import { useLanguage } from "../../i18n";
import { Status } from "../../ui/Status";
import type { Endpoint } from "./queries";

/** EndpointState shows whether an endpoint gets events, or why not. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
	const { t } = useLanguage();
	if (endpoint.enabled) return <Status status="delivered" text={t.endpoints.states.enabled} />;
	if (endpoint.abandoned_at) return <Status status="failed" text={t.endpoints.abandoned} />;
	return <Status status="parked" text={endpoint.disabled_reason ?? t.endpoints.states.disabled} />;
}
