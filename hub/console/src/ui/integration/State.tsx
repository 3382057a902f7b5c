import { useLanguage } from "../../i18n";
import { Status } from "../Status";

const shapes = { active: "delivered", inactive: "parked", disabled: "parked", revoked: "parked", error: "failed" };

/** Standing is what an integration's state follows from. */
export type Standing = { status: "active" | "inactive" | "error"; disabled: boolean; revoked_at: string | null };

/** stateOf is what an integration's status means for people. */
export function stateOf(integration: Standing): keyof typeof shapes {
	if (integration.revoked_at) return "revoked";
	return integration.disabled ? "disabled" : integration.status;
}

/** State shows how an integration stands: a word, and a colour and shape beside it. */
export function State({ integration }: { integration: Standing }) {
	const { t } = useLanguage();
	const state = stateOf(integration);
	const text = state === "disabled" || state === "revoked" ? t.integrations[state] : t.integrations.statuses[state];
	return <Status status={shapes[state]} text={text} />;
}
