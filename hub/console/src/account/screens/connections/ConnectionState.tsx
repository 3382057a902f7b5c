import { Status } from "../../../ui/Status";
import { useTexts } from "../../i18n";
import type { Live } from "./live";
import type { Connection } from "./queries";

const shapes: Record<Connection["status"], string> = { CONNECTED: "delivered", OPENING: "pending", qrcode: "pending", PAIRING: "pending", TIMEOUT: "failed", DISCONNECTED: "parked", BANNED: "failed", OUTDATED: "failed" };

/** ConnectionState shows how a connection stands at its network. */
export function ConnectionState({ status }: { status: Connection["status"] }) {
	const { connections } = useTexts();
	return <Status status={shapes[status]} text={connections.statuses[status]} />;
}

/** LiveState says whether changes are seen as they happen. */
export function LiveState({ live }: { live: Live }) {
	const { connections } = useTexts();
	return (
		<span role="status" className="quiet">
			{connections.live[live]}
		</span>
	);
}
