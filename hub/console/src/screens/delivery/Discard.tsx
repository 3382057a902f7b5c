import { Button } from "@mantine/core";
import { useState } from "react";
import { useScreenTexts } from "../../i18n/screens";
import type { Delivery } from "../../ui/delivery/types";
import { ConfirmDialog } from "../../ui/Form";
import layout from "../../ui/layout.module.css";
import { useAdmin } from "../../ui/useAdmin";
import { discardDelivery } from "./queries";

/**
 * Discard ends the wait of a delivery in an order, so that those behind it are sent. ordered is whether its
 * receiver is; what took its place before that was switched off keeps to it.
 */
export function Discard({ delivery, ordered, onDone }: { delivery: Delivery; ordered: boolean; onDone: () => unknown }) {
	const { order: texts } = useScreenTexts();
	const admin = useAdmin();
	const [asking, setAsking] = useState(false);
	const { waiting } = delivery;
	const isInOrder = delivery.ordering_key !== null && !delivery.out_of_order && waiting !== null && (ordered || waiting.behind !== null || waiting.holds_up > 0);
	if (!admin || !isInOrder) return null;
	return (
		<>
			<Button size="xs" variant="default" className={layout.bad} onClick={() => setAsking(true)}>
				{texts.discard}
			</Button>
			{asking && <ConfirmDialog title={texts.discard} text={texts.discardText(waiting.holds_up)} onClose={() => setAsking(false)} onDone={onDone} send={() => discardDelivery(delivery.id)} />}
		</>
	);
}
