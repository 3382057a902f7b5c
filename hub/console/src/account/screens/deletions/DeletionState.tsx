import { Status } from "../../../ui/Status";
import { useTexts } from "../../i18n";
import type { Deletion, DeletionPeer } from "./queries";

const shapes = { waiting: "pending", needs_attention: "failed", completed: "delivered" };

/** DeletionState shows how far a deletion request is. */
export function DeletionState({ status }: { status: Deletion["status"] }) {
	const { deletions } = useTexts();
	return <Status status={shapes[status]} text={deletions.statuses[status]} />;
}

const peerShapes = { pending: "pending", acknowledged: "delivered", failed: "failed" };

/** PeerState shows how far one product is. */
export function PeerState({ status }: { status: DeletionPeer["status"] }) {
	const { deletions } = useTexts();
	return <Status status={peerShapes[status]} text={deletions.peerStatuses[status]} />;
}
