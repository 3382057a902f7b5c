import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Status } from "../../ui/Status";
import type { Endpoint } from "./queries";

/** EndpointState shows whether an endpoint gets events. Why not is beside it, or, in a list, shown under the pointer. */
export function EndpointState({ endpoint, brief }: { endpoint: Endpoint; brief?: boolean }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	if (endpoint.enabled) return <Status status="delivered" text={screens.endpoints.states.enabled} />;
	if (endpoint.abandoned_at) return <Status status="failed" text={screens.endpoints.abandoned} />;
	const { disabled } = screens.endpoints.states;
	const reason = endpoint.disabled_reason && (t.delivery.reasons[endpoint.disabled_reason] ?? endpoint.disabled_reason);
	return (
		<span title={reason || undefined}>
			<Status status="parked" text={reason && !brief ? `${disabled}: ${reason}` : disabled} />
		</span>
	);
}
