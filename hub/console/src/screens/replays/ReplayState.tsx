import { useLanguage } from "../../i18n";
import { Status } from "../../ui/Status";
import type { Replay } from "./queries";

const shapes = { running: "pending", done: "delivered", cancelled: "parked", failed: "failed" };

export function ReplayState({ replay }: { replay: Replay }) {
	const { t } = useLanguage();
	return <Status status={shapes[replay.status]} text={t.replays.states[replay.status]} />;
}
