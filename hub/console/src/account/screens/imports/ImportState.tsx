import { Status } from "../../../ui/Status";
import { useTexts } from "../../i18n";
import type { Import } from "./queries";

const shapes = { pending: "pending", running: "pending", done: "delivered", failed: "failed" };

/** ImportState shows how far an import is, or that it was undone. */
export function ImportState({ row }: { row: Import }) {
	const { imports: texts } = useTexts();
	if (row.undo) return <Status status={row.undo.status === "done" ? "parked" : "pending"} text={texts.undoStatuses[row.undo.status]} />;
	return <Status status={shapes[row.status]} text={texts.statuses[row.status]} />;
}
