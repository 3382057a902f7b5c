import { Button } from "@mantine/core";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Check, FormDialog } from "../../ui/Form";
import { setOrdered } from "./queries";

/** Order is the button that switches the order of an integration's events on and off. */
export function Order({ id, ordered, onDone }: { id: string; ordered: boolean; onDone: () => unknown }) {
	const { t } = useLanguage();
	const { order: texts } = useScreenTexts();
	const [open, setOpen] = useState(false);
	return (
		<>
			<Button size="xs" variant="default" onClick={() => setOpen(true)}>
				{texts.title}
			</Button>
			{open && (
				<FormDialog title={texts.title} submit={t.ui.save} onClose={() => setOpen(false)} onDone={onDone} send={({ checked }) => setOrdered(id, checked("ordered"))}>
					<Check name="ordered" label={texts.ordered} help={texts.orderedHelp} checked={ordered} />
				</FormDialog>
			)}
		</>
	);
}
