import { useScreenTexts } from "../../i18n/screens";
import { Status } from "../../ui/Status";
import type { Replay } from "./queries";

const shapes = { running: "pending", done: "delivered", cancelled: "parked", failed: "failed" };

export function ReplayState({ replay }: { replay: Replay }) {
	const screens = useScreenTexts();
	return <Status status={shapes[replay.status]} text={screens.replays.states[replay.status]} />;
}
