import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Status } from "../../ui/Status";
import type { Endpoint } from "./queries";

/** EndpointState shows whether an endpoint gets events, or why not. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	if (endpoint.enabled) return <Status status="delivered" text={screens.endpoints.states.enabled} />;
	if (endpoint.abandoned_at) return <Status status="failed" text={screens.endpoints.abandoned} />;
	const reason = endpoint.disabled_reason;
	return <Status status="parked" text={reason ? (t.delivery.reasons[reason] ?? reason) : screens.endpoints.states.disabled} />;
}
