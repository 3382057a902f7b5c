import { useLanguage } from "../../i18n";
import { Status } from "../Status";

const shapes = { active: "delivered", inactive: "parked", disabled: "parked", revoked: "parked", error: "failed" };

/** StatusFields are the fields of an integration that its state is derived from. */
export type StatusFields = { status: "active" | "inactive" | "error"; disabled: boolean; revoked_at: string | null };

/** stateOf returns the state that the console shows for an integration. */
export function stateOf(integration: StatusFields): keyof typeof shapes {
	if (integration.revoked_at) return "revoked";
	return integration.disabled ? "disabled" : integration.status;
}

/** State shows an integration's state: a word, a colour and a shape. */
export function State({ integration }: { integration: StatusFields }) {
	const { t } = useLanguage();
	const state = stateOf(integration);
	const text = state === "disabled" || state === "revoked" ? t.integrations[state] : t.integrations.statuses[state];
	return <Status status={shapes[state]} text={text} />;
}
