import { useScreenTexts } from "../../i18n/screens";
import layout from "../../ui/layout.module.css";
import { Time } from "../../ui/Time";
import type { Tenant } from "./queries";

/** stateOf is whether a tenant works, and since when it does not. */
export function stateOf(tenant: Tenant): { state: "active" | "suspended" | "deleting"; since?: string } {
	if (tenant.deletion_requested_at) return { state: "deleting", since: tenant.deletion_requested_at };
	if (tenant.suspended_at) return { state: "suspended", since: tenant.suspended_at };
	return { state: "active" };
}

/** TenantState shows it. In a list the row has the focus, not the time. */
export function TenantState({ tenant, focusable }: { tenant: Tenant; focusable: boolean }) {
	const { tenants: texts } = useScreenTexts();
	const { state, since } = stateOf(tenant);
	if (since === undefined) return <span className="quiet">{texts.states[state]}</span>;
	return (
		<span className={layout.bad}>
			{texts.states[state]} · <Time at={since} focusable={focusable} />
		</span>
	);
}
