import { useLanguage } from "../../i18n";
import { Status } from "../../ui/Status";
import { type Integration, stateOf } from "./queries";

const shapes = { active: "delivered", inactive: "parked", disabled: "parked", revoked: "parked", error: "failed" };

/** State shows how an integration stands: a word, and a colour and shape beside it. */
export function State({ integration }: { integration: Integration }) {
	const { t } = useLanguage();
	const state = stateOf(integration);
	const text = state === "disabled" || state === "revoked" ? t.integrations[state] : t.integrations.statuses[state];
	return <Status status={shapes[state]} text={text} />;
}
